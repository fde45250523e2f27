package io.pointsman.api.keys;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigException;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.CallerCheck.Verdict;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Keys of a file: admission, expiry, and the caller that a key names. */
class FileKeysTest {
  private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
  private static final String CLIENT = "pmk-client";
  private static final String PLANE = "pmk-plane";
  private static final String BRIEF = "pmk-brief";

  @TempDir private Path directory = Path.of(".");
  private Path file = Path.of(".");
  private final AtomicReference<Instant> now = new AtomicReference<>(START);

  @BeforeEach
  void writeKeys() throws Exception {
    file = directory.resolve("keys.yaml");
    add("alice", KeyRole.CLIENT, CLIENT, List.of("m"), null);
    add("haproxy", KeyRole.PLANE, PLANE, List.of(), null);
    add("guest", KeyRole.CLIENT, BRIEF, List.of(), START.plusSeconds(60));
  }

  private void add(
      String name, KeyRole role, String key, List<String> models, @Nullable Instant expires)
      throws Exception {
    KeyFile.add(file, new StoredKey(name, role, StoredKey.hash(key), models, expires));
  }

  private FileKeys keys(CallerCheck others) {
    return new FileKeys(file, others, now::get);
  }

  @Test
  void aKeyOfTheFileIsAdmittedUnderItsName() {
    FileKeys keys = keys(CallerCheck.NOBODY);
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.ADMITTED);
    ClientIdentity alice = new ClientIdentity(ClientIdentity.Kind.KEY, "alice", Set.of("m"));
    KeyHolder holder = new KeyHolder(alice, KeyRole.CLIENT);
    assertThat(keys.holder("bearer  " + CLIENT)).isEqualTo(holder);
    assertThat(keys.holderOf(CLIENT)).isEqualTo(holder);
    for (String other : List.of("Bearer pmk-other", "Bearer " + CLIENT + "x", "Bearer ", CLIENT)) {
      assertThat(keys.known(other)).as(other).isEqualTo(Verdict.REFUSED);
      assertThat(keys.holder(other)).isNull();
    }
    assertThat(keys.known(null)).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void aStoredHashIsNoKey() {
    String hash = StoredKey.hash(CLIENT);
    FileKeys keys = keys(CallerCheck.NOBODY);
    assertThat(keys.known("Bearer " + hash)).isEqualTo(Verdict.REFUSED);
    assertThat(keys.known("Bearer " + StoredKey.PREFIX + hash)).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void aKeyEnds() {
    FileKeys keys = keys(CallerCheck.NOBODY);
    assertThat(keys.known("Bearer " + BRIEF)).isEqualTo(Verdict.ADMITTED);
    now.set(START.plusSeconds(60));
    assertThat(keys.known("Bearer " + BRIEF)).isEqualTo(Verdict.REFUSED);
    assertThat(keys.holder("Bearer " + BRIEF)).isNull();
  }

  @Test
  void aPlanesKeyIsNoClientsKeyButKnown() {
    FileKeys keys = keys(CallerCheck.NOBODY);
    assertThat(keys.known("Bearer " + PLANE)).isEqualTo(Verdict.REFUSED);
    KeyHolder plane = requireNonNull(keys.holderOf(PLANE));
    assertThat(plane.role()).isEqualTo(KeyRole.PLANE);
    assertThat(plane.identity().name()).isEqualTo("haproxy");
  }

  @Test
  @Timeout(60)
  void anUnusableFileChangesNothingAndTheNextOneCounts() throws Exception {
    FileKeys keys = keys(CallerCheck.NOBODY);
    String good = Files.readString(file);
    Files.writeString(file, "[".repeat(300_000));
    keys.refresh();
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.ADMITTED);
    Files.writeString(file, "# " + "x".repeat(17 << 20));
    keys.refresh();
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.ADMITTED);
    Files.delete(file);
    assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor()).isZero();
    keys.refresh();
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.ADMITTED);

    Files.delete(file);
    Files.writeString(file, good.replace(StoredKey.hash(CLIENT), StoredKey.hash("pmk-next")));
    keys.refresh();
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.REFUSED);
    assertThat(keys.known("Bearer pmk-next")).isEqualTo(Verdict.ADMITTED);
  }

  @Test
  void otherKeysAreForTheFurtherCheck() {
    CallerCheck servers =
        new CallerCheck() {
          @Override
          public Verdict known(@Nullable String authorization) {
            return Verdict.UNKNOWN;
          }

          @Override
          public Verdict ask(String authorization) {
            return Verdict.ADMITTED;
          }
        };
    FileKeys keys = keys(servers);
    assertThat(keys.known("Bearer sk-other")).isEqualTo(Verdict.UNKNOWN);
    assertThat(keys.ask("Bearer sk-other")).isEqualTo(Verdict.ADMITTED);
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.ADMITTED);
  }

  @Test
  void aChangedFileHoldsAndABrokenOneDoesNot() throws Exception {
    FileKeys keys = keys(CallerCheck.NOBODY);
    add("bob", KeyRole.CLIENT, "pmk-bob", List.of(), null);
    assertThat(keys.known("Bearer pmk-bob")).isEqualTo(Verdict.REFUSED);
    keys.refresh();
    assertThat(keys.known("Bearer pmk-bob")).isEqualTo(Verdict.ADMITTED);

    Files.writeString(file, "keys: [{");
    keys.refresh();
    assertThat(keys.known("Bearer pmk-bob")).isEqualTo(Verdict.ADMITTED);

    Files.writeString(file, "keys: []");
    keys.refresh();
    assertThat(keys.known("Bearer pmk-bob")).isEqualTo(Verdict.REFUSED);
    assertThat(keys.known("Bearer " + CLIENT)).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void aRoleIsGuardedForEverOnceItHasHadAKey() throws Exception {
    FileKeys keys = keys(CallerCheck.NOBODY);
    assertThat(keys.guards(KeyRole.PLANE)).isTrue();
    assertThat(keys.guards(KeyRole.ADMIN)).isFalse();
    add("ops", KeyRole.ADMIN, "pmk-ops", List.of(), START.minusSeconds(1));
    keys.refresh();
    assertThat(keys.holderOf("pmk-ops")).isNull();
    Files.writeString(file, "keys: []");
    keys.refresh();
    assertThat(keys.guards(KeyRole.ADMIN)).isTrue();
    assertThat(keys.guards(KeyRole.PLANE)).isTrue();
  }

  @Test
  void aFileThatIsGoneAndComesBackIsReadAgain() throws Exception {
    now.set(Instant.now().plusSeconds(3600));
    FileKeys keys = keys(CallerCheck.NOBODY);
    String text = Files.readString(file);
    Files.delete(file);
    keys.refresh();
    assertThat(keys.holderOf(CLIENT)).isNotNull();
    Files.writeString(file, text.replace("alice", "anna"));
    keys.refresh();
    KeyHolder renamed = requireNonNull(keys.holderOf(CLIENT));
    assertThat(renamed.identity().name()).isEqualTo("anna");
  }

  @Test
  void aLinkToAnotherFileIsAChange() throws Exception {
    // Kubernetes replaces a link when a mounted secret changes.
    Path link = directory.resolve("link");
    Path other = directory.resolve("other.yaml");
    KeyFile.add(
        other, new StoredKey("carol", KeyRole.CLIENT, StoredKey.hash("pmk-c"), List.of(), null));
    Files.createSymbolicLink(link, file);
    now.set(Instant.now().plusSeconds(3600));
    FileKeys keys = new FileKeys(link, CallerCheck.NOBODY, now::get);
    Files.delete(link);
    Files.createSymbolicLink(link, other);
    keys.refresh();
    assertThat(keys.holderOf("pmk-c")).isNotNull();
    assertThat(keys.holderOf(CLIENT)).isNull();
  }

  private static StoredKey stored(String name, String key) {
    return new StoredKey(name, KeyRole.CLIENT, StoredKey.hash(key), List.of(), null);
  }

  @Test
  void keysOfAVariableCountBesideThoseOfTheFile() throws Exception {
    String hash = StoredKey.hash("pmk-env");
    List<StoredKey> constant =
        KeyFile.ofVariable(
            "KEYS", "keys: [{name: env, role: client, hash: 'sha256:" + hash + "'}]");
    FileKeys both = new FileKeys(file, constant, CallerCheck.NOBODY, now::get);
    for (String key : List.of("pmk-env", CLIENT)) {
      assertThat(both.known("Bearer " + key)).isEqualTo(Verdict.ADMITTED);
    }
    FileKeys alone = new FileKeys(null, constant, CallerCheck.NOBODY, now::get);
    alone.refresh();
    assertThat(alone.known("Bearer pmk-env")).isEqualTo(Verdict.ADMITTED);
    assertThat(alone.known("Bearer " + CLIENT)).isEqualTo(Verdict.REFUSED);

    // The file may change, and cannot take the name or the key.
    Files.delete(file);
    KeyFile.add(file, stored("env", "pmk-other"));
    both.refresh();
    assertThat(both.known("Bearer pmk-other")).isEqualTo(Verdict.REFUSED);
    assertThat(both.known("Bearer " + CLIENT)).isEqualTo(Verdict.ADMITTED);
    Files.delete(file);
    KeyFile.add(file, stored("later", "pmk-later"));
    both.refresh();
    assertThat(both.known("Bearer pmk-later")).isEqualTo(Verdict.ADMITTED);
    assertThat(both.known("Bearer pmk-env")).isEqualTo(Verdict.ADMITTED);
    assertThat(both.known("Bearer " + CLIENT)).isEqualTo(Verdict.REFUSED);
  }

  @Test
  void aVariableThatIsNotSetOrInvalidIsRefusedWithItsName() {
    for (String text : new @Nullable String[] {null, "", " "}) {
      assertThatThrownBy(() -> KeyFile.ofVariable("KEYS", text))
          .isInstanceOf(ConfigException.class)
          .hasMessageStartingWith("KEYS: not set");
    }
    assertThatThrownBy(() -> KeyFile.ofVariable("KEYS", "keys: [{name: a}]"))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith("$KEYS");
    List<StoredKey> taken = List.of(stored("alice", "pmk-other"));
    assertThatThrownBy(() -> new FileKeys(file, taken, CallerCheck.NOBODY, now::get))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("alice: the name or the hash is in auth.keys-env");
  }
}
