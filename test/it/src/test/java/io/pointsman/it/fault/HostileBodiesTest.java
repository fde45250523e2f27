package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.client.HostileBody;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Malformed JSON bodies are refused. Valid ones are forwarded byte for byte at any size and depth.
 * The connection continues to serve.
 */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
@Tag("full")
final class HostileBodiesTest {
  private static FaultRig rig;

  @BeforeAll
  static void start() throws IOException {
    rig = FaultRig.alone(Map.of("pool.idle-timeout", "100ms"));
  }

  @AfterAll
  static void stop() throws IOException {
    rig.close();
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    rig.check();
  }

  @ParameterizedTest
  @EnumSource
  void isRefusedOrForwardedUnchanged(HostileBody hostile) throws Exception {
    byte[] body = hostile.bytes(FaultRig.MODEL);
    if (travels(hostile)) {
      int from = rig.engine().requests().size();
      FaultRig.byMany(_ -> send(body, 200));
      assertThat(rig.unlikeNormal(from))
          .hasSize(Residue.FOUND)
          .allMatch(request -> Arrays.equals(request.body(), body), "has the body as it was sent");
    } else {
      long before = rig.requestsSeen();
      FaultRig.byMany(_ -> assertThat(send(body, 400)).contains("\"code\":\"invalid_body\""));
      assertThat(rig.requestsSeen()).isEqualTo(before + Residue.FOUND); // only the normal requests
    }
    rig.engine().forget(); // hundreds of megabytes
  }

  /**
   * Sends the body and then a normal request.
   *
   * @return the response to the body
   */
  private static String send(byte[] body, int status) throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      HttpAnswer answer = client.send("POST", "/v1/completions", body, List.of()).read();
      assertThat(answer.status()).as(answer.text()).isEqualTo(status);
      String normal = FaultRig.request(false);
      assertThat(client.send("POST", "/v1/completions", normal).read().status()).isEqualTo(200);
      return answer.text();
    }
  }

  /** The engine judges the contents of strings; the router only finds their ends. */
  private static boolean travels(HostileBody body) {
    return switch (body) {
      case CONTROL_CHARACTER,
          INVALID_UTF_8,
          OVERLONG_UTF_8,
          LONE_SURROGATE,
          BROKEN_ESCAPE,
          DEEP_LISTS,
          DEEP_OBJECTS,
          HUGE_STRING,
          HUGE_ESCAPES,
          HUGE_NUMBER,
          MANY_KEYS ->
          true;
      default -> false;
    };
  }
}
