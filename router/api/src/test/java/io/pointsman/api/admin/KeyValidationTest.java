package io.pointsman.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.AuthSettings;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.CallerCheck.Admittance;
import io.pointsman.proxy.local.CallerCheck.Verdict;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeyValidationTest {
  private final FakeClock clock = new FakeClock();
  private final Set<String> valid = new HashSet<>();
  private final List<String> asked = new ArrayList<>();
  private final Set<String> away = new HashSet<>();
  private final Map<String, ClientIdentity> named = new HashMap<>();

  /** Servers with an invalid description of each client. */
  private final Set<String> undescribed = new HashSet<>();

  private final KeyValidation keys =
      new KeyValidation(
          new AuthSettings(List.of("http://one", "http://two"), Duration.ofSeconds(60)),
          this::confirmed,
          clock::nanos);

  private KeyValidation.@Nullable Answer confirmed(String url, String key) {
    asked.add(url + " " + key);
    if (away.contains(url)) {
      return null;
    }
    if (undescribed.contains(url)) {
      return KeyValidation.Answer.INVALID;
    }
    return valid.contains(url + " " + key)
        ? KeyValidation.Answer.confirmed(named.get(key))
        : KeyValidation.Answer.REFUSED;
  }

  /** The client goes with the verdict, also from the cache, and not beyond it. */
  @Test
  void aServerNamesTheClientOfAKey() {
    ClientIdentity team =
        new ClientIdentity(ClientIdentity.Kind.CONFIRMED, "confirmed:team", Set.of("m"));
    named.put("k", team);
    valid.addAll(List.of("http://two k", "http://one plain"));
    assertThat(keys.admission("Bearer k").client()).isNull();
    assertThat(keys.askAdmission("Bearer k")).isEqualTo(new Admittance(Verdict.ADMITTED, team));
    assertThat(keys.admission("bearer k")).isEqualTo(new Admittance(Verdict.ADMITTED, team));
    assertThat(keys.askAdmission("Bearer plain")).isEqualTo(Admittance.of(Verdict.ADMITTED));
    assertThat(asked).hasSize(3);

    ClientIdentity other = new ClientIdentity(team.kind(), team.name(), Set.of("m", "n"));
    named.put("k", other);
    assertThat(keys.askAdmission("Bearer k").client()).isEqualTo(team);
    clock.advance(Duration.ofSeconds(60));
    assertThat(keys.admission("Bearer k")).isEqualTo(Admittance.of(Verdict.UNKNOWN));
    assertThat(keys.askAdmission("Bearer k").client()).isEqualTo(other);
  }

  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"", "Bearer", "Bearer ", "Basic abc", "Bearer a\u00e4", "Bearer a b"})
  void aHeaderWithoutAKeyIsRefusedWithoutAQuery(@Nullable String authorization) {
    assertThat(keys.known(authorization)).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void aTooLongKeyIsRefusedWithoutAQuery() {
    assertThat(keys.known("Bearer " + "k".repeat(5000))).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void anyServerMayConfirmAKey() {
    valid.add("http://two k");
    assertThat(keys.known("Bearer k")).isEqualTo(Verdict.UNKNOWN);
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.ADMITTED);
    assertThat(asked).containsExactly("http://one k", "http://two k");
    assertThat(keys.known("bearer k")).isEqualTo(Verdict.ADMITTED);
  }

  @Test
  void noServerIsQueriedAfterAConfirmation() {
    valid.add("http://one k");
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.ADMITTED);
    assertThat(asked).containsExactly("http://one k");
  }

  /** The other server would confirm the key without the limits that the first one meant. */
  @Test
  void noServerIsQueriedAfterAnInvalidDescription() {
    undescribed.add("http://one");
    valid.add("http://two k");
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.REFUSED);
    assertThat(asked).containsExactly("http://one k");
  }

  @Test
  void aVerdictExpires() {
    valid.add("http://one k");
    keys.ask("Bearer k");
    keys.ask("Bearer wrong");
    assertThat(keys.known("Bearer wrong")).isEqualTo(Verdict.REFUSED);
    clock.advance(Duration.ofSeconds(59));
    assertThat(keys.known("Bearer k")).isEqualTo(Verdict.ADMITTED);
    clock.advance(Duration.ofSeconds(1));
    assertThat(keys.known("Bearer k")).isEqualTo(Verdict.UNKNOWN);
    assertThat(keys.known("Bearer wrong")).isEqualTo(Verdict.UNKNOWN);
  }

  @Test
  void anUnreachableServerGivesNoVerdict() {
    away.addAll(List.of("http://one", "http://two"));
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.UNKNOWN);
    assertThat(keys.known("Bearer k")).isEqualTo(Verdict.UNKNOWN);
  }

  @Test
  void aKeyIsNotRefusedWhileOneServerIsUnreachable() {
    away.add("http://two");
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.UNKNOWN);
    away.clear();
    valid.add("http://two k");
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.ADMITTED);
  }

  @Test
  void anUnreachableServerDoesNotPreventAConfirmation() {
    away.add("http://one");
    valid.add("http://two k");
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.ADMITTED);
    assertThat(keys.known("Bearer k")).isEqualTo(Verdict.ADMITTED);
  }

  @Test
  void inventedKeysAreLimitedAndEvictNoValidKey() {
    valid.add("http://one first");
    keys.ask("Bearer first");
    for (int i = 0; i <= KeyValidation.MOST_VERDICTS; i++) {
      keys.ask("Bearer invented-" + i);
    }
    assertThat(keys.known("Bearer first")).isEqualTo(Verdict.ADMITTED);
    assertThat(keys.known("Bearer invented-0")).isEqualTo(Verdict.UNKNOWN);
    assertThat(keys.known("Bearer invented-5000")).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void longKeysShareABoundOfMemory() {
    String end = "x".repeat(4000);
    int fit = KeyValidation.MOST_BYTES / 4000;
    for (int i = 0; i < fit; i++) {
      keys.ask("Bearer invented-" + i + end);
    }
    assertThat(keys.known("Bearer invented-0" + end)).isEqualTo(Verdict.UNKNOWN);
    assertThat(keys.known("Bearer invented-" + (fit - 1) + end)).isEqualTo(Verdict.REFUSED);
    assertThat(keys.known("Bearer invented-" + fit / 2 + end)).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void aRevokedKeyIsNotAdmittedByItsOldVerdict() {
    valid.add("http://one k");
    keys.ask("Bearer k");
    clock.advance(Duration.ofSeconds(60));
    valid.clear();
    assertThat(keys.ask("Bearer k")).isEqualTo(Verdict.REFUSED);
    assertThat(keys.known("Bearer k")).isEqualTo(Verdict.REFUSED);
  }
}
