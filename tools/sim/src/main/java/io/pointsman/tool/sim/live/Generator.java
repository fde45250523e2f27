package io.pointsman.tool.sim.live;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.http.SimExchange;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Runs requests through the engine and answers them. Owned by the event loop. */
public final class Generator {
  /** vLLM's message if its engine died. */
  public static final String DEAD =
      "EngineCore encountered an issue. See stack trace (above) for the root cause.";

  private final EngineCore engine;

  public Generator(EngineCore engine) {
    this.engine = engine;
  }

  /** Responds with one document when all tokens are generated. */
  public void answerWhole(SimExchange exchange, Generation request, WholeReply reply) {
    HandOver handOver = engine.handOvers().open(exchange, request);
    Started started = new Started();
    GenerationRun run =
        begin(
            handOver,
            () -> {
              GenerationRun finished = started.run;
              if (finished != null && !exchange.done()) {
                answer(exchange, finished, reply);
              }
            });
    started.run = run;
    exchange.onGone(() -> lost(exchange, run));
    handOver.prepare(run, () -> submit(exchange, run));
  }

  /** Responds with events as tokens are generated. */
  public void answerStream(
      SimExchange exchange, Generation request, Function<GenerationRun, StreamReply> reply) {
    HandOver handOver = engine.handOvers().open(exchange, request);
    Started started = new Started();
    GenerationRun run = begin(handOver, () -> pump(started));
    exchange.onGone(() -> lost(exchange, run));
    handOver.prepare(
        run,
        () -> {
          SimEventStream out = exchange.openEvents();
          StreamReply events = reply.apply(run);
          started.pump = new TokenPump(run, events, out);
          events.taken(out);
          out.flush();
          exchange.onWritable(() -> pump(started));
          submit(exchange, run);
        });
  }

  /**
   * Runs a request in the background.
   *
   * @return the run, for queries or an abort
   */
  public GenerationRun runUnattended(Generation request) {
    GenerationRun run = new GenerationRun(engine, new WholeRequest(request), Generator::nothing);
    run.submit();
    return run;
  }

  private GenerationRun begin(HandOver handOver, Runnable onProgress) {
    try {
      return new GenerationRun(engine, handOver, onProgress);
    } catch (RequestError e) {
      handOver.lost();
      throw e;
    }
  }

  private static void answer(SimExchange exchange, GenerationRun run, WholeReply reply) {
    if (run.failed()) {
      exchange.fail(500, "InternalServerError", DEAD, null);
    } else if (run.finished()) {
      exchange.respond(200, document(run, reply));
    }
  }

  private static JsonNode document(GenerationRun run, WholeReply reply) {
    JsonNode document = reply.document(run);
    if (run.handedOver() != null && document instanceof ObjectNode object) {
      object.set("kv_transfer_params", run.handedOver());
    }
    return document;
  }

  private void pump(Started started) {
    TokenPump pump = started.pump;
    if (pump != null && pump.run()) {
      started.pump = null;
    }
  }

  private void lost(SimExchange exchange, GenerationRun run) {
    if (exchange.faulted()) {
      run.drop();
    } else {
      run.abort();
    }
  }

  private void submit(SimExchange exchange, GenerationRun run) {
    double delay = exchange.firstTokenDelayMillis();
    if (delay > 0) {
      engine.driver().later(delay, run::submit);
    } else {
      run.submit();
    }
  }

  private static void nothing() {}

  /** The state for a run's callbacks; set after the run is created. */
  private static final class Started {
    @Nullable GenerationRun run;
    @Nullable TokenPump pump;
  }
}
