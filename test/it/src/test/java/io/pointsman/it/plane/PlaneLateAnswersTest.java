package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.completion;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RawEngine.Received;
import io.pointsman.it.support.SlowRelay;
import io.pointsman.it.support.WaitFor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A router with responses that arrive after the proxy's timeout. Leases last ten minutes, so only a
 * settlement releases them.
 */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneLateAnswersTest {
  private static final Duration DELAY = Duration.ofSeconds(5);
  private static final String LATE = "this one comes late";

  private final PlaneRig rig;
  private final CountDownLatch served = new CountDownLatch(1);

  PlaneLateAnswersTest(PlaneRig.Way way) {
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    served.countDown();
    rig.close();
  }

  /** An engine that is slow for some requests. */
  private void answer(Received request, OutputStream out) throws IOException {
    if (new String(request.body(), StandardCharsets.UTF_8).contains(LATE)) {
      try {
        if (!served.await(WaitFor.LONG.toSeconds(), TimeUnit.SECONDS)) {
          throw new IOException("it was never to be served");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    out.write(RawEngine.answer("text/plain", new byte[] {'!'}));
  }

  private List<SlowRelay> begun(Duration patience) throws IOException {
    rig.scripted(this::answer);
    rig.scripted(this::answer);
    rig.router("least_load");
    List<SlowRelay> relays = rig.slowly(LATE, DELAY, patience);
    rig.carrier();
    rig.awaitNoLoad();
    return relays;
  }

  private RawClient asking() throws IOException {
    byte[] body = completion(LATE).getBytes(StandardCharsets.UTF_8);
    return RawClient.connect(rig.port()).send("POST", "/v1/completions", body, List.of());
  }

  private void awaitDecided(List<SlowRelay> relays) {
    WaitFor.until(
        "the router has decided after all",
        WaitFor.LONG,
        () -> relays.stream().mapToInt(SlowRelay::answered).sum() == 1);
  }

  @Test
  void aLateDecisionLeavesNoLeaseWhileItsRequestRuns() throws Exception {
    List<SlowRelay> relays = begun(Duration.ofSeconds(1));
    try (RawClient client = asking()) {
      awaitDecided(relays);
      rig.awaitNoLoad();

      served.countDown();
      HttpAnswer answer = client.read();
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).as("placed without the router").isNull();
    }
    rig.awaitPinned();
    rig.awaitNoLoad();
  }

  @Test
  void aClientThatLeavesDuringTheDecisionLeavesNoLease() throws Exception {
    List<SlowRelay> relays = begun(PlaneRig.PATIENCE);
    try (RawClient client = asking()) {
      WaitFor.until(
          "the router is asked",
          WaitFor.LONG,
          () -> relays.stream().mapToInt(SlowRelay::asked).sum() == 1);
      client.reset();
    }

    awaitDecided(relays);
    rig.awaitNoLoad();
    rig.awaitPinned();
    rig.awaitNoLoad();
  }
}
