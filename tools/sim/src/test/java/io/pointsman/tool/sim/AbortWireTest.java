package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.live.AbortPhase;
import io.pointsman.tool.sim.live.EngineState;
import io.pointsman.tool.sim.schedule.EngineLimits;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class AbortWireTest {
  private static final String LONG =
      "{\"prompt\":\"some words to compute\",\"max_tokens\":1000,\"stream\":true}";

  /** Computes prompts for hours, so a request stays in the phase in which its client leaves. */
  private final SimEngine engine =
      SimEngine.start(SimConfig.DEFAULT.withLinearLatency(0.001, 50).withMaxRunning(1));

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void clientThatLeavesWhilePrefillingIsNoticed() throws IOException {
    Socket client = SimWireClient.open(engine.port(), "/v1/completions", LONG);
    await(state -> state.sequences().running() == 1);
    client.close();

    assertThat(abortedIn(AbortPhase.PREFILLING).kv().pinned()).isZero();
  }

  @Test
  void clientThatLeavesWhileQueuedIsNoticed() throws IOException {
    try (Socket first = SimWireClient.open(engine.port(), "/v1/completions", LONG)) {
      await(state -> state.sequences().running() == 1);
      Socket second = SimWireClient.open(engine.port(), "/v1/completions", LONG);
      await(state -> state.sequences().waiting() == 1);
      second.close();

      EngineState state = abortedIn(AbortPhase.QUEUED);
      assertThat(state.sequences().running()).isEqualTo(1);
      assertThat(state.sequences().waiting()).isZero();
      assertThat(first.isConnected()).isTrue();
    }
  }

  @Test
  void clientThatLeavesMidStreamIsNoticed() throws IOException {
    try (SimEngine fast = SimEngine.start(SimConfig.DEFAULT.withLinearLatency(0, 200))) {
      Socket client = SimWireClient.open(fast.port(), "/v1/completions", LONG);
      SimWireClient.readUntil(client.getInputStream(), "data: ");
      client.close();
      await(fast, state -> state.abortedIn(AbortPhase.DECODING) == 1);

      assertThat(fast.state().requests().inFlight()).isZero();
      assertThat(fast.state().sequences().running()).isZero();
    }
  }

  @Test
  void clientThatLeavesBeforeTheHeadersIsNoticed() throws IOException {
    Socket client =
        SimWireClient.open(engine.port(), "/v1/completions", LONG.replace("true", "false"));
    await(state -> state.sequences().running() == 1);
    client.close();

    abortedIn(AbortPhase.PREFILLING);
  }

  @Test
  void clientThatLeavesAHangingRequestIsNoticed() throws IOException {
    engine.failures().always(new Fault.Hang(0));
    Socket client = SimWireClient.open(engine.port(), "/v1/completions", LONG);
    await(state -> state.requests().inFlight() == 1);
    client.close();

    abortedIn(AbortPhase.ACCEPTED);
  }

  @Test
  void clientThatStoppedReadingIsNoticedWhenItLeaves() throws IOException {
    try (SimEngine fast = SimEngine.start(SimConfig.instant())) {
      String body = LONG.replace("1000", "100000");
      Socket client = SimWireClient.open(fast.port(), "/v1/completions", body);
      await(fast, state -> state.tokens().generated() == 100_000);
      assertThat(fast.state().requests().inFlight()).isEqualTo(1);
      client.close();

      await(fast, state -> state.abortedIn(AbortPhase.SENDING) == 1);
    }
  }

  @Test
  void engineWithoutDelaysServesOthersDuringALongResponse() throws IOException {
    EngineLimits huge = new EngineLimits(20_000_000, 16, 256, 8192, 200_000_000, 0, 0);
    String endless = LONG.replace("1000", "100000000");
    try (SimEngine fast = SimEngine.start(SimConfig.instant().withLimits(huge));
        Socket client = SimWireClient.open(fast.port(), "/v1/completions", endless)) {
      SimWireClient.readUntil(client.getInputStream(), "data: ");
      String body = "{\"prompt\":\"short\",\"max_tokens\":1}";
      SimWireClient.post(fast.url() + "/v1/completions", body);

      assertThat(fast.state().sequences().maxRunning()).isEqualTo(2);
    }
  }

  private EngineState abortedIn(AbortPhase phase) {
    EngineState state = await(s -> s.abortedInAll() == 1);
    assertThat(state.abortedIn(phase)).isEqualTo(1);
    assertThat(state.requests().inFlight()).isLessThanOrEqualTo(1);
    return state;
  }

  private EngineState await(Predicate<EngineState> condition) {
    return await(engine, condition);
  }

  private static EngineState await(SimEngine engine, Predicate<EngineState> condition) {
    AtomicReference<EngineState> last = new AtomicReference<>(engine.state());
    Await.until(
        () -> "a state, last " + last.get(),
        () -> condition.test(last.updateAndGet(_ -> engine.state())));
    return last.get();
  }
}
