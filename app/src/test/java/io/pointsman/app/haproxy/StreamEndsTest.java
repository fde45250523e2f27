package io.pointsman.app.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StreamEndsTest {
  @ParameterizedTest
  @CsvSource({
    "200, --, true, succeeded",
    "400, --, true, succeeded",
    "429, --, true, ignored",
    "503, --, true, ignored",
    "500, --, true, error",
    "502, --, true, error",
    "200, CD, true, ignored",
    "200, cD, true, ignored",
    "-1, CH, true, ignored",
    "503, SC, true, connect",
    "503, sC, true, connect",
    "502, SH, true, error",
    "200, SD, true, error",
    "504, sH, true, timeout",
    "200, sD, true, timeout",
    "503, RC, true, ignored",
    "200, --, false, connect"
  })
  void anEndingIsReadFromHaproxysSigns(int status, String signs, boolean decided, String outcome) {
    String told = StreamEnds.ending(status, signs, decided);

    boolean failed = !outcome.equals("succeeded") && !outcome.equals("ignored");
    assertThat(told)
        .isEqualTo(
            failed
                ? "{\"outcome\":\"failed\",\"failure\":\"" + outcome + "\"}"
                : "{\"outcome\":\"" + outcome + "\"}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"https://r:1", "http://r", "r:1", "http:///"})
  void aRouterThatIsNoneIsRefused(String router) {
    InetSocketAddress listen = InetSocketAddress.createUnresolved("127.0.0.1", 0);

    assertThatThrownBy(() -> HaproxySettings.of(listen, URI.create(router)))
        .hasMessageContaining("router: " + router + " (expected: http://host:port)");
  }

  @Test
  void aProgramThatIsNotThereIsToldAsSuch() {
    HaproxySettings usual =
        HaproxySettings.of(
            InetSocketAddress.createUnresolved("127.0.0.1", 0), URI.create("http://127.0.0.1:1"));
    HaproxySettings missing =
        new HaproxySettings(
            usual.listen(),
            usual.router(),
            "no-such-haproxy",
            usual.timeout(),
            usual.ttl(),
            usual.slots(),
            usual.maxConnections());

    assertThatThrownBy(() -> HaproxyPlane.start(missing)).hasMessageContaining("no-such-haproxy");
  }
}
