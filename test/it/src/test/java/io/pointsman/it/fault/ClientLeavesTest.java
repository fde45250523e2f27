package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.client.Cut;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Many clients leave, in an orderly way or with a reset, at each place where their bytes can be
 * cut.
 */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before all tests
@Tag("full")
final class ClientLeavesTest {
  private static final EngineScript ENDLESS =
      (_, connection) -> {
        connection.beginEvents();
        while (true) {
          connection.chunk("data: on and on\n\n");
          Thread.sleep(1); // a generation takes time
        }
      };

  private static FaultRig rig;

  @BeforeAll
  static void start() throws IOException {
    rig = FaultRig.alone(Map.of("pool.idle-timeout", "100ms"));
  }

  @AfterAll
  static void stop() throws IOException {
    rig.close();
  }

  @ParameterizedTest
  @EnumSource
  void atEveryCut(Cut cut) throws Exception {
    rig.engine()
        .now(FaultRig.healthy(cut == Cut.BEFORE_ANSWER ? new Faults.HangBeforeHeaders() : ENDLESS));
    int from = rig.engine().requests().size();
    leave(cut, false);
    leave(cut, true);
    rig.check(); // long enough for wrongly forwarded requests to reach the engine
    assertThat(rig.unlikeNormal(from)).hasSize(cut.afterRequest() ? 2 * Residue.FOUND : 0);
  }

  private static void leave(Cut cut, boolean reset) throws Exception {
    long before = rig.requestsSeen();
    long after = cut.afterRequest() ? before + Residue.FOUND : before;
    Worker worker = rig.worker();
    long served = worker.served();
    long failures = worker.failures();
    FaultRig.byMany(_ -> leaves(cut, reset, after));
    WaitFor.until(
        "the engine is left alone", WaitFor.LONG, () -> rig.engine().openConnections() == 0);
    assertThat(rig.requestsSeen()).isEqualTo(after);
    assertThat(rig.worker().failures()).as("failures, no lease or one ignored").isEqualTo(failures);
    assertThat(worker.served()).as("served, no lease or one ignored").isEqualTo(served);
  }

  /**
   * Leaves when the engine has received this number of requests, if the cut is after the request.
   */
  private static void leaves(Cut cut, boolean reset, long asked) throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      if (cut.afterRequest()) {
        client.send("POST", "/v1/completions", FaultRig.request(true));
        WaitFor.until("the engine is asked", WaitFor.LONG, () -> rig.requestsSeen() >= asked);
        read(client, cut.answerBytes());
      } else {
        client.send(cut.request());
      }
      if (reset) {
        client.reset();
      } else {
        client.leave();
      }
    }
  }

  private static void read(RawClient client, int bytes) throws IOException {
    int left = bytes;
    while (left > 0) {
      int read = client.readSome(new byte[left], left);
      assertThat(read).isPositive();
      left -= read;
    }
  }
}
