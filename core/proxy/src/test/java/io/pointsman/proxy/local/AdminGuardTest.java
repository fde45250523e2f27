package io.pointsman.proxy.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.local.AdminGuard.CallConnection;
import io.pointsman.request.RequestHeaders;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AdminGuardTest {
  private static final AdminGuard GUARD =
      new AdminGuard(List.of("Router.example"), "admin-key", "plane-key");

  private static final CallConnection NEAR = new CallConnection(false, true, true);
  private static final CallConnection FAR = new CallConnection(false, false, true);
  private static final CallConnection CERTIFIED = new CallConnection(true, false, true);

  /** A connection to the client port, which counts as certified. */
  private static final CallConnection FAR_CLIENT = new CallConnection(true, false, false);

  private static final CallConnection NEAR_CLIENT = new CallConnection(true, true, false);

  /** Headers of a call, by name. */
  private record Headers(List<Map.Entry<String, String>> values) implements RequestHeaders {
    static Headers of(String... namesAndValues) {
      List<Map.Entry<String, String>> values = new ArrayList<>();
      for (int i = 0; i < namesAndValues.length; i += 2) {
        values.add(Map.entry(namesAndValues[i], namesAndValues[i + 1]));
      }
      return new Headers(values);
    }

    @Override
    public @Nullable String first(String lowerCaseName) {
      return values.stream()
          .filter(each -> each.getKey().equalsIgnoreCase(lowerCaseName))
          .map(Map.Entry::getValue)
          .findFirst()
          .orElse(null);
    }

    @Override
    public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
      values.forEach(one -> each.accept(one.getKey(), one.getValue()));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.0.0.1:29001",
        "10.0.0.7:80",
        "[::1]:29001",
        "[fe80::1]",
        "[::ffff:10.0.0.7]:80",
        "127.0.0.1:",
        "localhost",
        "LocalHost:1",
        "localhost.",
        "a.localhost:1",
        "router.example",
        "ROUTER.example.:443"
      })
  void localNamesAddressesAndConfiguredNamesAreAdmitted(String host) {
    assertThat(GUARD.problem(Headers.of("host", host), false)).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "evil.example",
        "evil.example:29001",
        "router.example.evil.example",
        "evilrouter.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "2130706433",
        "0x7f.0.0.1",
        "999.1.1.1",
        "256.0.0.1:29001",
        "127.1",
        "[evil.example]",
        "[evil.example]:29001",
        "[]",
        "[::1",
        "[::1].evil.example",
        "[::1]:80.evil.example",
        "[::1%evil.example]",
        "[127.0.0.1]",
        "::1",
        "127.0.0.1:80:evil.example",
        "localhost:evil.example",
        "",
        ":29001"
      })
  void otherNamesAreRefused(String host) {
    assertThat(GUARD.problem(Headers.of("host", host), false)).contains("admin.names");
  }

  @ParameterizedTest
  @CsvSource({
    "http://127.0.0.1:29001, true",
    "https://router.example, true",
    "https://router.example:8443, true",
    "http://127.0.0.1:3000, false",
    "http://localhost:29001, false",
    "https://evil.example, false",
    "https://router.example.evil.example, false",
    "null, false",
    "file://, false",
    "'', false",
  })
  void onlyPagesOfTheListenerAndOfItsNamesMayCall(String origin, boolean admitted) {
    String problem = GUARD.problem(Headers.of("host", "127.0.0.1:29001", "origin", origin), true);

    assertThat(problem == null).isEqualTo(admitted);
  }

  @ParameterizedTest
  @CsvSource({"same-origin, true", "none, true", "same-site, false", "cross-site, false"})
  void callsOfOtherSitesAreRefusedEvenWithoutAnOrigin(String site, boolean admitted) {
    String problem = GUARD.problem(Headers.of("host", "localhost", "sec-fetch-site", site), true);

    assertThat(problem == null).isEqualTo(admitted);
  }

  @ParameterizedTest
  @CsvSource({
    "navigate, document, true, true",
    "navigate, document, false, false",
    "navigate, iframe, true, false",
    "no-cors, image, true, false",
    "cors, empty, true, false"
  })
  void anotherSiteMayOnlyLinkToAPage(String mode, String into, boolean page, boolean admitted) {
    Headers headers =
        Headers.of(
            "host",
            "localhost",
            "sec-fetch-site",
            "cross-site",
            "sec-fetch-mode",
            mode,
            "sec-fetch-dest",
            into);

    assertThat(GUARD.problem(headers, page) == null).isEqualTo(admitted);
  }

  /** Otherwise a proxy in front could check one of them, and this guard the other. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "host",
        "origin",
        "sec-fetch-site",
        "sec-fetch-mode",
        "sec-fetch-dest",
        "x-pointsman-key"
      })
  void aHeaderThatDecidesMayOccurOnce(String name) {
    String value = name.equals("origin") ? "http://localhost" : "localhost";
    Headers once = Headers.of("host", "localhost", "other", "a", "Other", "a");
    assertThat(GUARD.problem(once, false)).isNull();
    String upper = name.toUpperCase(Locale.ROOT);
    Headers twice = Headers.of("other", "a", name, value, upper, "evil.example", "other", "a");
    assertThat(GUARD.problem(twice, false)).isEqualTo(name + ": repeated (expected: one)");
  }

  @Test
  void theKeyDecidesOnTheRight() {
    assertThat(kind("Bearer admin-key", false)).isEqualTo(Caller.Kind.ADMIN);
    assertThat(kind("bearer  admin-key ", true)).isEqualTo(Caller.Kind.ADMIN);
    assertThat(kind("Bearer plane-key", true)).isEqualTo(Caller.Kind.PLANE);
    assertThat(kind("Bearer plane-key", false)).isNull();
    assertThat(kind("Bearer admin-key2", true)).isNull();
    assertThat(kind("Bearer admin-ke", true)).isNull();
    assertThat(kind("admin-key", true)).isNull();
    assertThat(kind("Bearer ", true)).isNull();
    assertThat(GUARD.caller(Headers.of(), true, NEAR)).isNull();
  }

  private static Caller.@Nullable Kind kind(String authorization, boolean forPlanes) {
    Caller caller = GUARD.caller(Headers.of("authorization", authorization), forPlanes, NEAR);
    return caller == null ? null : caller.kind();
  }

  @Test
  void browsersSendTheKeyAsAPassword() {
    assertThat(kind("Basic " + encoded("anyone:admin-key"), false)).isEqualTo(Caller.Kind.ADMIN);
    assertThat(kind("Basic " + encoded("admin-key"), false)).isNull();
    assertThat(kind("Basic !!", false)).isNull();
  }

  private static String encoded(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void theKeyOfAProxyLeavesTheClientsAuthorizationAlone() {
    Caller caller =
        GUARD.caller(
            Headers.of("x-pointsman-key", "plane-key", "authorization", "Bearer client"),
            true,
            NEAR);

    assertThat(caller).isEqualTo(new Caller(Caller.Kind.PLANE, false));
  }

  @Test
  void withoutKeysEverybodyIsAdmitted() {
    AdminGuard open = new AdminGuard(List.of(), "", "");

    assertThat(open.caller(Headers.of(), false, NEAR)).isEqualTo(Caller.OPEN);
    assertThat(open.caller(Headers.of("authorization", "Bearer x"), true, NEAR))
        .isEqualTo(Caller.OPEN);
    assertThat(open.caller(Headers.of("x-pointsman-key", ""), true, NEAR)).isEqualTo(Caller.OPEN);
  }

  @Test
  void certificatesInPlaceOfAKeyAreThoseOfTheConnection() {
    AdminGuard guard = new AdminGuard(List.of(), "", "plane-key", KeyRing.NONE, false, true);
    RequestHeaders plane = Headers.of("authorization", "Bearer plane-key");

    assertThat(guard.caller(Headers.of(), false, CERTIFIED)).isEqualTo(Caller.OPEN);
    assertThat(guard.caller(Headers.of(), false, NEAR)).isNull();
    assertThat(guard.caller(plane, false, NEAR)).isNull();
    assertThat(guard.caller(plane, true, NEAR)).isEqualTo(new Caller(Caller.Kind.PLANE, true));
  }

  @Test
  void aPlanesKeyAloneIsNeededOnlyByItsPaths() {
    AdminGuard guard = new AdminGuard(List.of(), "", "plane-key");

    assertThat(guard.caller(Headers.of(), true, NEAR)).isNull();
    assertThat(guard.caller(Headers.of(), false, NEAR)).isEqualTo(Caller.OPEN);
  }

  /** The listener may have moved from an address that others reach, with a key, to this machine. */
  @Test
  void withoutAKeyAConnectionToAnEarlierAddressIsRefused() {
    AdminGuard open = new AdminGuard(List.of(), "", "").onlyNear(true, true);
    AdminGuard keyed = new AdminGuard(List.of(), "k", "p").onlyNear(true, true);
    AdminGuard certificates =
        new AdminGuard(List.of(), "", "", KeyRing.NONE, false, true).onlyNear(true, true);

    assertThat(open.caller(Headers.of(), false, NEAR)).isEqualTo(Caller.OPEN);
    assertThat(open.caller(Headers.of(), false, FAR)).isNull();
    assertThat(open.caller(Headers.of(), true, FAR)).isNull();
    assertThat(open.caller(Headers.of(), false, CERTIFIED)).isNull();
    assertThat(certificates.caller(Headers.of(), false, CERTIFIED)).isEqualTo(Caller.OPEN);
    assertThat(keyed.caller(Headers.of("authorization", "Bearer k"), false, FAR))
        .isEqualTo(new Caller(Caller.Kind.ADMIN, true));
    assertThat(keyed.caller(Headers.of("authorization", "Bearer p"), true, FAR))
        .isEqualTo(new Caller(Caller.Kind.PLANE, true));
    assertThat(keyed.caller(Headers.of("authorization", "Bearer p"), false, FAR)).isNull();
    assertThat(certificates.caller(Headers.of(), false, NEAR_CLIENT)).isEqualTo(Caller.OPEN);
    assertThat(certificates.caller(Headers.of(), false, FAR_CLIENT)).isNull();
  }

  /** With {@code insecure-admin}, one of the two ports can be on this machine only. */
  @Test
  void aPortThatOthersReachWithoutAKeyDoesNotOpenTheOtherPort() {
    AdminGuard open = new AdminGuard(List.of(), "", "");
    AdminGuard listener = open.onlyNear(true, false);
    AdminGuard clientPort = open.onlyNear(false, true);

    assertThat(listener.caller(Headers.of(), false, FAR)).isNull();
    assertThat(listener.caller(Headers.of(), false, FAR_CLIENT)).isEqualTo(Caller.OPEN);
    assertThat(clientPort.caller(Headers.of(), false, FAR)).isEqualTo(Caller.OPEN);
    assertThat(clientPort.caller(Headers.of(), false, FAR_CLIENT)).isNull();
  }
}
