package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.engine.EngineConnection;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine sends a second answer late, on a connection that the router has kept. */
@EveryTransport
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
final class SurplusBytesTest {
  @Parameter Transport transport = Transport.AUTO;

  private final BlockedLoop loop = new BlockedLoop();

  private static String request(boolean stream) {
    return ProxyRig.post(
        "/v1/completions",
        "authorization: Bearer k\r\n",
        "{\"model\":\"m\",\"stream\":" + stream + ",\"prompt\":\"p\"}");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void bytesThatComeBeforeTheRequestAreNotItsAnswer(boolean stream) throws Exception {
    BlockingQueue<EngineConnection> connections = new LinkedBlockingQueue<>();
    AtomicInteger answers = new AtomicInteger();
    ProxySettings settings =
        ProxySettings.DEFAULTS.withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (_, connection) -> {
                  connections.add(connection);
                  connection.reply(
                      200, "application/json", "{\"answer\":" + answers.incrementAndGet() + "}");
                })) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      assertThat(client.send(request(stream)).read().text()).isEqualTo("{\"answer\":1}");
      rig.callers = loop;
      try {
        client.send(request(stream));
        loop.await();
        connections.remove().reply(200, "application/json", "{\"answer\":\"late\"}");
      } finally {
        loop.pass(1);
      }

      assertThat(client.read().text()).isEqualTo("{\"answer\":2}");
      assertThat(engine.connections()).isEqualTo(2);
      assertThat(rig.retried).containsExactly(RetryReason.STALE);
    }
  }
}
