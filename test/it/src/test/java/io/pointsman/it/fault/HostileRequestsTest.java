package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.client.HostileRequest;
import io.pointsman.testkit.engine.EngineRequest;
import java.io.IOException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every hostile request is refused with an error object, and the connection ends. Neither it nor
 * the second request reaches an engine.
 */
@Timeout(120)
@SuppressWarnings({"NullAway.Init", "StringConcatToTextBlock"}) // set before all; line ends matter
@Tag("full")
final class HostileRequestsTest {
  private static FaultRig rig;

  @BeforeAll
  static void start() throws IOException {
    rig = FaultRig.alone(Map.of("limits.max-body", "1MiB", "pool.idle-timeout", "100ms"));
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
  void isRefusedAndTheSecondRequestIsNotProcessed(HostileRequest request) throws Exception {
    long before = rig.engine().requests().size();
    FaultRig.byMany(_ -> refused(request));
    assertThat(rig.engine().requests().size()).isEqualTo(before);
  }

  private static void refused(HostileRequest request) throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      sendAsMuchAsIsTaken(client, request.bytes());
      HttpAnswer answer = client.read();
      assertThat(answer.status()).as(answer.text()).isEqualTo(status(request));
      assertThat(answer.text()).startsWith("{\"error\":{\"message\":");
      assertThat(answer.header("connection")).isEqualTo("close");
      assertThat(client.readSome(new byte[1], 1)).as("what follows").isEqualTo(-1);
    }
  }

  private static int status(HostileRequest request) {
    return switch (request) {
      case LARGE_HEADER, MANY_HEADERS, MANY_SHORT_HEADERS -> 431;
      case LONG_URI -> 414;
      case LARGE_BODY_ANNOUNCED -> 413;
      case OTHER_VERSION, NEXT_PROTOCOL -> 505;
      default -> 400;
    };
  }

  /** Sends the bytes; a server may close before it has read all of them. */
  private static void sendAsMuchAsIsTaken(RawClient client, byte[] bytes) throws IOException {
    try {
      client.send(bytes);
    } catch (SocketException _) {
      // The response can still be read.
    }
  }

  @Test
  void aTooLargeBodyIsRefusedWhileItArrives() throws Exception {
    try (RawClient client = RawClient.connect(rig.port())) {
      byte[] head =
          "POST /x HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n"
              .getBytes(StandardCharsets.US_ASCII);
      long before = rig.engine().requests().size();
      sendAsMuchAsIsTaken(client, head);
      byte[] chunk =
          ("10000\r\n" + "x".repeat(65_536) + "\r\n").getBytes(StandardCharsets.US_ASCII);
      for (int i = 0; i < 17; i++) {
        sendAsMuchAsIsTaken(client, chunk);
      }
      assertThat(client.read().status()).isEqualTo(413);
      assertThat(rig.engine().requests().size()).isEqualTo(before);
    }
  }

  @Test
  void chunkExtensionsAreNotForwarded() throws Exception {
    String request =
        "POST /x HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n"
            + "5;name=value;other=\"quoted\"\r\nhello\r\n0;last\r\n\r\n";
    try (RawClient client = RawClient.connect(rig.port())) {
      client.send(request.getBytes(StandardCharsets.US_ASCII));
      assertThat(client.read().status()).isEqualTo(200);
      EngineRequest last = rig.engine().requests().getLast();
      assertThat(last.line()).isEqualTo("POST /x HTTP/1.1");
      assertThat(last.bodyText()).isEqualTo("hello");
    }
  }
}
