package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that the server that confirms their keys also names. */
@Timeout(60)
@SuppressWarnings("try") // tests may be interrupted
class ConfirmedClientsTest {
  private static final ClientIdentity TEAM =
      new ClientIdentity(ClientIdentity.Kind.CONFIRMED, "confirmed:team", Set.of("m"));

  /** Names the client at each question, and keeps nothing at first. */
  private static final class Server implements CallerCheck {
    private final AtomicInteger asked = new AtomicInteger();
    private volatile boolean keeps;

    @Override
    public Verdict known(@Nullable String authorization) {
      return admission(authorization).verdict();
    }

    @Override
    public Verdict ask(String authorization) {
      return askAdmission(authorization).verdict();
    }

    @Override
    public Admittance admission(@Nullable String authorization) {
      return keeps ? new Admittance(Verdict.ADMITTED, TEAM) : Admittance.of(Verdict.UNKNOWN);
    }

    @Override
    public Admittance askAdmission(String authorization) {
      asked.incrementAndGet();
      return new Admittance(Verdict.ADMITTED, TEAM);
    }
  }

  /** The first request of a key, which waits for the server, has the rights of the later ones. */
  @Test
  void theRightsHoldForTheFirstRequestAndTheLaterOnes() throws Exception {
    Server server = new Server();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok());
        WireClient client = rig.connect()) {
      rig.callers = server;
      rig.worker(engine.url());
      for (boolean keeps : new boolean[] {false, true}) {
        server.keeps = keeps;
        WireResponse other = client.send(request("other")).read();
        assertThat(other.status()).isEqualTo(403);
        assertThat(other.text()).contains("model_not_permitted");
        assertThat(client.send(request("m")).read().status()).isEqualTo(200);
      }
      assertThat(server.asked).hasValue(2);
      // Such a key is for the engine too.
      assertThat(engine.awaitRequest().header("authorization")).isEqualTo("Bearer k");
      ProxyRig.await("reported", () -> rig.identities.size() == 4);
      assertThat(rig.identities).containsOnly("CONFIRMED confirmed:team");
    }
  }

  private static String request(String model) {
    String body = "{\"model\":\"" + model + "\",\"messages\":[]}";
    return ProxyRig.post("/v1/chat/completions", "authorization: Bearer k\r\n", body);
  }
}
