package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.WebSocketFault;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Faults of WebSockets, each by many clients at once. */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
@Timeout(180)
@Tag("full")
final class WebSocketFaultsTest {
  private static final String SWITCH =
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n";

  private static final byte[] UPGRADE =
      ("GET /v1/realtime?model="
              + FaultRig.MODEL
              + " HTTP/1.1\r\nhost: router\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
              + "sec-websocket-key: k\r\n\r\n")
          .getBytes(StandardCharsets.US_ASCII);

  private static final byte[] FRAME = {1, 2};

  /** The effect of a fault on the worker's counts. */
  private enum Counted {
    SERVED,
    FAILED,
    NEITHER
  }

  private static EngineScript script(WebSocketFault fault) {
    return switch (fault) {
      case RESETS_SOCKET ->
          (_, connection) -> {
            connection.send(SWITCH + "ab").receive(FRAME.length);
            connection.reset();
          };
      case CLOSES_SOCKET ->
          (_, connection) -> {
            connection.send(SWITCH + "ab").receive(FRAME.length);
            connection.close();
          };
      case CLIENT_RESETS_SOCKET, CLIENT_CLOSES_SOCKET, SOCKET_IS_SILENT ->
          new Faults.HangAfter(SWITCH + "ab");
      case ANSWERS_UPGRADE -> Faults.Answer.ok();
      case REFUSES_UPGRADE -> new Faults.Answer(403, "{}");
      case BYTES_BEFORE_SWITCH -> new Faults.HangAfter("ab" + SWITCH);
      case SWITCHES_OTHERWISE -> new Faults.HangAfter(SWITCH.replace("websocket", "h2c"));
      case ENDS_BEFORE_SWITCH -> new Faults.CloseAfter("");
      case END_IS_IGNORED, SOCKET_IS_NOT_READ, STOP_DURING_SOCKET, SWITCHES_UNASKED ->
          throw new IllegalArgumentException(fault + " (expected: a fault of this test)");
    };
  }

  /** Plays the client. Returns the effect on the worker. */
  private static Counted play(WebSocketFault fault, RawClient client) throws IOException {
    client.send(UPGRADE);
    return switch (fault) {
      case RESETS_SOCKET, CLOSES_SOCKET -> {
        opened(client).send(FRAME);
        assertThat(atEnd(client)).isTrue();
        yield fault == WebSocketFault.RESETS_SOCKET ? Counted.FAILED : Counted.SERVED;
      }
      case CLIENT_RESETS_SOCKET -> {
        opened(client).reset();
        yield Counted.NEITHER;
      }
      case CLIENT_CLOSES_SOCKET -> {
        opened(client).leave();
        yield Counted.SERVED;
      }
      case SOCKET_IS_SILENT -> {
        assertThat(atEnd(opened(client))).isTrue();
        yield Counted.NEITHER;
      }
      case ANSWERS_UPGRADE -> ended(client, 200, Counted.SERVED);
      case REFUSES_UPGRADE -> ended(client, 403, Counted.SERVED);
      case BYTES_BEFORE_SWITCH, SWITCHES_OTHERWISE, ENDS_BEFORE_SWITCH ->
          ended(client, 502, Counted.FAILED);
      case END_IS_IGNORED, SOCKET_IS_NOT_READ, STOP_DURING_SOCKET, SWITCHES_UNASKED ->
          throw new IllegalArgumentException(fault + " (expected: a fault of this test)");
    };
  }

  private static RawClient opened(RawClient client) throws IOException {
    assertThat(client.readHead().status()).isEqualTo(101);
    assertThat(client.readSome(new byte[2], 1)).isEqualTo(1);
    assertThat(client.readSome(new byte[2], 1)).isEqualTo(1);
    return client;
  }

  private static Counted ended(RawClient client, int status, Counted counted) throws IOException {
    HttpAnswer answer = client.read();
    assertThat(answer.status()).isEqualTo(status);
    assertThat(answer.complete()).isTrue();
    assertThat(atEnd(client)).isTrue();
    return counted;
  }

  private static boolean atEnd(RawClient client) {
    try {
      return client.readSome(new byte[1], 1) < 0;
    } catch (java.net.SocketTimeoutException e) {
      return false;
    } catch (IOException _) {
      return true;
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"END_IS_IGNORED", "SOCKET_IS_NOT_READ", "STOP_DURING_SOCKET", "SWITCHES_UNASKED"})
  void endsWithoutResidue(WebSocketFault fault) throws Exception {
    Map<String, Object> settings =
        fault == WebSocketFault.SOCKET_IS_SILENT
            ? Map.of("timeouts.idle", "300ms", "retry.max-attempts", 1)
            : Map.of("retry.max-attempts", 1);
    try (FaultRig rig = FaultRig.alone(settings)) {
      rig.ready();
      Worker worker = rig.worker();
      long served = worker.served();
      long failed = worker.failures();
      rig.engine().now(FaultRig.healthy(script(fault)));
      Counted[] counted = new Counted[Residue.FOUND];
      FaultRig.byMany(
          number -> {
            try (RawClient client = RawClient.connect(rig.port())) {
              counted[number] = play(fault, client);
            }
          });
      rig.cluster().awaitQuiet();
      long all = counted.length;
      assertThat(counted).containsOnly(counted[0]);
      assertThat(worker.served() - served).isEqualTo(counted[0] == Counted.SERVED ? all : 0);
      assertThat(worker.failures() - failed).isEqualTo(counted[0] == Counted.FAILED ? all : 0);
      rig.check();
    }
  }
}
