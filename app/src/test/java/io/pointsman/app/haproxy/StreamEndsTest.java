package io.pointsman.app.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StreamEndsTest {
  @ParameterizedTest
  @CsvSource({
    "200, --, w3, succeeded",
    "400, --, w3, refused",
    "499, --, w3, refused",
    "429, --, w3, ignored",
    "503, --, w3, ignored",
    "500, --, w3, error",
    "502, --, w3, error",
    "200, CD, w3, ignored",
    "200, cD, w3, ignored",
    "-1, CH, w3, ignored",
    "503, SC, w3, connect",
    "503, sC, w3, connect",
    "502, SH, w3, error",
    "200, SD, w3, error",
    "504, sH, w3, timeout",
    "502, PH, w3, error",
    "400, PH, w3, ignored",
    "500, PH, w3, ignored",
    "200, PD, w3, ignored",
    "400, PR, w3, ignored",
    "200, sD, w3, timeout",
    "503, RC, w3, ignored",
    "200, --, w4, connect",
    "503, SC, -, ignored",
    "200, --, -, ignored"
  })
  void anEndingIsReadFromHaproxysSigns(int status, String signs, String decided, String outcome) {
    String told = StreamEnds.ending(status, signs, "w3", decided);

    boolean failed = !Set.of("succeeded", "refused", "ignored").contains(outcome);
    assertThat(told)
        .isEqualTo(
            failed
                ? "{\"outcome\":\"failed\",\"failure\":\"" + outcome + "\"}"
                : "{\"outcome\":\"" + outcome + "\"}");
  }

  @Test
  void aLineTellsTheFirstTokenIfHaproxySawIt() {
    assertThat(StreamEnds.read("pm 1z-k3 200 -- w3 w3 412"))
        .isEqualTo(
            new StreamEnds.Settlement("1z-k3", "{\"outcome\":\"succeeded\",\"ttft_ms\":412}"));
    assertThat(StreamEnds.read("pm 1z-k3 500 -- w3 w3 -\n"))
        .isEqualTo(
            new StreamEnds.Settlement("1z-k3", "{\"outcome\":\"failed\",\"failure\":\"error\"}"));
    assertThat(StreamEnds.read("pm - 200 -- w3 - -")).isNull();
    assertThat(StreamEnds.read("pm 550e8400-e29b-41d4-a716-446655440000 -1 CR <NOSRV> - -"))
        .as("given up before the answer came")
        .isEqualTo(
            new StreamEnds.Settlement(
                "550e8400-e29b-41d4-a716-446655440000", "{\"outcome\":\"ignored\"}"));
    assertThat(StreamEnds.read("pm 1z-k3 99999999999 -- w3 w3 -")).isNull();
  }

  @Test
  void howSoonAnErrorCameTellsNothing() {
    for (int status : new int[] {400, 404, 429, 500, 503}) {
      assertThat(StreamEnds.read("pm 1z-k3 " + status + " -- w3 w3 3"))
          .asString()
          .contains("1z-k3")
          .doesNotContain("ttft_ms");
    }
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
    HaproxySettings missing = usual.withExecutable("no-such-haproxy");

    assertThatThrownBy(() -> HaproxyPlane.start(missing)).hasMessageContaining("no-such-haproxy");
  }
}
