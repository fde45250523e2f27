package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

@SuppressWarnings("try") // closing may be interrupted, as tests may
@EveryTransport
@Timeout(60)
class ConnectionLimitTest {
  private static final int MOST = 4;

  /** Number of clients that a listener may accept before it stops. */
  private static final int UNDER_WAY = 16;

  private static final int FLOOD = 3 * (MOST + UNDER_WAY);

  /**
   * Number of sequential requests. A loop that did not stop accepting would accept all clients
   * within them.
   */
  private static final int TURNS = 100;

  private static final String REQUEST = ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}");

  @Parameter Transport transport = Transport.AUTO;

  @Test
  void clientsAboveTheLimitWaitUntilOthersHaveLeft() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(MOST));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> flood = connect(rig, FLOOD);
      Await.until("as many as may be", () -> rig.server().clients() >= MOST);
      for (int turn = 0; turn < TURNS; turn++) {
        assertThat(flood.getFirst().send(REQUEST).read().status()).isEqualTo(200);
      }
      int in = rig.server().clients();
      assertThat(in).isLessThanOrEqualTo(MOST + UNDER_WAY);

      WireClient next = flood.get(in).send(REQUEST);
      int first = in - MOST + 1;
      for (WireClient each : flood.subList(0, first)) {
        each.close();
      }
      assertThat(next.read().status()).as("the next once there is room for one").isEqualTo(200);
      for (WireClient each : flood.subList(first, FLOOD)) {
        each.close();
      }
      Await.until("all have left", () -> rig.server().clients() == 0);
      assertThat(rig.ask(REQUEST).status()).as("after the flood").isEqualTo(200);
    }
  }

  @Test
  void withoutALimitAllClientsAreServed() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, settings(0));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      List<WireClient> flood = connect(rig, FLOOD);
      assertThat(flood.getLast().send(REQUEST).read().status()).isEqualTo(200);
      Await.until("all are counted", () -> rig.server().clients() == FLOOD);
    }
  }

  private static ProxySettings settings(int most) {
    return ProxySettings.DEFAULTS.withListen(ListenSettings.DEFAULTS.withMaxConnections(most));
  }

  private static List<WireClient> connect(ProxyRig rig, int count) throws Exception {
    List<WireClient> clients = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      clients.add(rig.connect());
    }
    return clients;
  }
}
