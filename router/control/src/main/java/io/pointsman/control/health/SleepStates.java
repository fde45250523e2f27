package io.pointsman.control.health;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads from engines whether they sleep or are paused. A probe and a control call can run at the
 * same time; an answer to the probe that may be older than the call is then ignored. Thread-safe.
 */
public final class SleepStates {
  private static final Logger log = LoggerFactory.getLogger(SleepStates.class);
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** A question, and the member of the answer. An engine may support one of them, both or none. */
  private record Question(String path, String member) {}

  private static final List<Question> QUESTIONS =
      List.of(new Question("/is_sleeping", "is_sleeping"), new Question("/is_paused", "is_paused"));

  private final EngineClient client;
  private final Supplier<Duration> timeout;
  private final AtomicInteger calls = new AtomicInteger();
  private final AtomicLong changes = new AtomicLong();

  /**
   * @param timeout maximum duration of one question; read before each
   */
  public SleepStates(EngineClient client, Supplier<Duration> timeout) {
    this.client = client;
    this.timeout = timeout;
  }

  /** Answer of an engine to both questions. */
  public enum State {
    AWAKE,
    ASLEEP,
    /** The engine supports neither question. */
    UNSUPPORTED,
    /** No usable answer. */
    UNKNOWN
  }

  /** Begins a control call; until {@link #callEnded} probes change no state. */
  public void callBegins() {
    calls.incrementAndGet();
    changes.incrementAndGet();
  }

  public void callEnded() {
    changes.incrementAndGet();
    calls.decrementAndGet();
  }

  /** Asks an engine. Blocks. */
  public State ask(Worker worker) {
    boolean supported = false;
    for (Question question : QUESTIONS) {
      State state = ask(worker, question);
      if (state == State.ASLEEP || state == State.UNKNOWN) {
        return state;
      }
      supported |= state == State.AWAKE;
    }
    return supported ? State.AWAKE : State.UNSUPPORTED;
  }

  private State ask(Worker worker, Question question) {
    try {
      String url = worker.spec().base() + question.path;
      EngineClient.Answer answer = client.send(worker.spec(), "GET", url, timeout.get());
      if (answer.status() >= 500) {
        return State.UNKNOWN;
      }
      JsonNode reported =
          answer.good() ? MAPPER.readTree(answer.body()).path(question.member) : null;
      if (reported == null || !reported.isBoolean()) {
        return State.UNSUPPORTED;
      }
      return reported.booleanValue() ? State.ASLEEP : State.AWAKE;
    } catch (IOException | IllegalArgumentException e) {
      log.debug("{} does not say if it sleeps: {}", worker, LogText.of(e));
      return State.UNKNOWN;
    }
  }

  /**
   * Asks an engine beside a probe, and records the answer.
   *
   * @param restarted true if the engine may have restarted; without an answer it then counts as
   *     awake
   * @return true if the engine supports a question, or gave no usable answer
   */
  boolean probe(Worker worker, boolean restarted) {
    long before = changes.get();
    State state = ask(worker);
    boolean known = state == State.ASLEEP || state == State.AWAKE;
    if ((known || (restarted && state == State.UNSUPPORTED))
        && calls.get() == 0
        && changes.get() == before) {
      worker.sleep(state == State.ASLEEP);
    }
    return state != State.UNSUPPORTED;
  }
}
