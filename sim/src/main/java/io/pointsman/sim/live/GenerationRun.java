package io.pointsman.sim.live;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.sim.cache.BlockHashes;
import io.pointsman.sim.cache.PromptOrigin;
import io.pointsman.sim.http.RequestError;
import io.pointsman.sim.schedule.EngineLimits;
import io.pointsman.sim.schedule.RejectReason;
import io.pointsman.sim.schedule.Sequence;
import io.pointsman.sim.schedule.Sequence.Phase;
import io.pointsman.sim.text.Answer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One request in the engine: its sequences, and the pump that writes what they have produced as
 * fast as the client takes it. The answer is a function of its seed, so tokens not yet written cost
 * no memory. Owned by the event loop.
 */
public final class GenerationRun {
  private final Engine engine;
  private final HandOver handOver;
  private final Generation request;
  private final long serial;
  private final long created;
  private final List<Sequence> sequences = new ArrayList<>();
  private final List<Answer> answers = new ArrayList<>();
  private final Runnable onProgress;
  private @Nullable JsonNode handedOver;
  private boolean submitted;
  private boolean aborted;
  private boolean marked;
  private boolean complete;
  private int unfinished;

  /**
   * Checks the request against the engine's limits.
   *
   * @param onProgress called after steps in which a sequence progressed
   * @throws RequestError 400 if it can never fit, 503 if the queue is full
   */
  GenerationRun(Engine engine, HandOver handOver, Runnable onProgress) {
    this.engine = engine;
    this.handOver = handOver;
    this.request = handOver.request();
    this.onProgress = onProgress;
    this.serial = engine.nextSerial();
    this.created = engine.epochSeconds();
    checkLength();
    checkQueue();
    for (int[] prompt : request.prompts()) {
      int blockSize = engine.scheduler().limits().blockSize();
      long[] hashes = BlockHashes.of(prompt, blockSize, request.salt());
      PromptOrigin origin = new PromptOrigin(prompt, adapter(), request.cacheSalt());
      for (int i = 0; i < request.choices(); i++) {
        answers.add(new Answer(BlockHashes.mix(request.seed() + 31L * answers.size())));
        Sequence sequence =
            new Sequence(hashes, prompt.length, request.outputTokens(), this::progressed);
        sequence.of(origin);
        sequences.add(sequence);
      }
    }
    unfinished = sequences.size();
  }

  private @Nullable String adapter() {
    return request.model().equals(engine.profile().model()) ? null : request.model();
  }

  /** What was asked. */
  public Generation request() {
    return request;
  }

  /** An id that no other run has, of this engine or of one with another id. */
  public String id(String prefix) {
    return prefix
        + HexFormat.of().toHexDigits(BlockHashes.mix(engine.id().hashCode() + (serial << 32)));
  }

  /** When the request came, in seconds since 1970. */
  public long created() {
    return created;
  }

  /** Answers in all: prompts times choices, those of one prompt side by side. */
  public int size() {
    return sequences.size();
  }

  /** What is said in choice {@code index}. */
  public Answer answer(int index) {
    return answers.get(index);
  }

  /** The sequence of choice {@code index}. */
  public Sequence sequence(int index) {
    return sequences.get(index);
  }

  /** Prompt tokens of choice {@code index} found in the prefix cache. */
  public int cachedTokens(int index) {
    return sequences.get(index).cachedTokens();
  }

  /** Prompt tokens found in the prefix cache, the first choice of every prompt counted. */
  public int cachedTokens() {
    int total = 0;
    for (int i = 0; i < sequences.size(); i += request.choices()) {
      total += sequences.get(i).cachedTokens();
    }
    return total;
  }

  /** Tokens produced so far over all choices. */
  public int completionTokens() {
    int total = 0;
    for (Sequence sequence : sequences) {
      total += sequence.produced();
    }
    return total;
  }

  /** Whether all sequences are complete. */
  public boolean finished() {
    return unfinished == 0;
  }

  /** Whether it was given up. */
  public boolean aborted() {
    return aborted;
  }

  /** What the reply carries as {@code kv_transfer_params}; null: nothing. */
  public @Nullable JsonNode handedOver() {
    return handedOver;
  }

  /** Makes the KV of the prompt's first tokens known before it is scheduled. */
  public void load(int tokens) {
    sequences.forEach(sequence -> sequence.load(tokens));
  }

  /** Keeps the memory of its first sequence when it is complete, until {@link #freeMemory}. */
  public void keepMemory() {
    sequences.getFirst().keepMemory();
  }

  /** Gives back what {@link #keepMemory} kept. */
  public void freeMemory() {
    engine.scheduler().free(sequences.getFirst());
    engine.driver().nudge();
  }

  void submit() {
    if (!aborted && !submitted) {
      submitted = true;
      sequences.forEach(engine.driver()::submit);
    }
  }

  /** Gives the run up because its client left; counted by the phase that it had come to. */
  public void abort() {
    if (!aborted) {
      engine.counters().aborted(abortPhase());
      drop();
    }
  }

  /** Gives the run up without blaming the client. */
  public void drop() {
    if (!aborted) {
      aborted = true;
      sequences.forEach(engine.driver()::abort);
      if (unfinished > 0) {
        handOver.lost();
      }
    }
  }

  private AbortPhase abortPhase() {
    if (!submitted) {
      return AbortPhase.ACCEPTED;
    }
    if (unfinished == 0) {
      return AbortPhase.SENDING;
    }
    AbortPhase furthest = AbortPhase.QUEUED;
    for (Sequence sequence : sequences) {
      if (sequence.phase() == Phase.PREFILLING && furthest == AbortPhase.QUEUED) {
        furthest = AbortPhase.PREFILLING;
      }
      if (sequence.produced() > 0) {
        furthest = AbortPhase.DECODING;
      }
    }
    return furthest;
  }

  private void progressed(Sequence sequence) {
    EngineCounters counters = engine.counters();
    if (sequence.produced() <= 1) {
      counters.timeToFirstToken().observeNanos(sequence.firstTokenAt() - sequence.arrivedAt());
    }
    if (sequence.phase() == Phase.FINISHED) {
      unfinished--;
      counters.finished(!request.stopsByItself());
      counters.endToEnd().observeNanos(sequence.finishedAt() - sequence.arrivedAt());
      if (sequence.produced() > 1) {
        long decoding = sequence.finishedAt() - sequence.firstTokenAt();
        counters.interToken().observeNanos(decoding / (sequence.produced() - 1));
      }
    }
    if (!marked) {
      marked = true;
      engine.driver().afterStep(this::notifyProgress);
    }
  }

  private void notifyProgress() {
    marked = false;
    if (aborted) {
      return;
    }
    if (unfinished == 0 && !complete) {
      complete = true;
      handedOver = handOver.finished(this);
    }
    onProgress.run();
  }

  private void checkLength() {
    EngineLimits limits = engine.scheduler().limits();
    for (int[] prompt : request.prompts()) {
      if ((long) prompt.length + request.outputTokens() > limits.longestRequest()) {
        engine.counters().rejected(RejectReason.TOO_LONG);
        throw RequestError.badRequest(
            "This model's maximum context length is "
                + limits.longestRequest()
                + " tokens. However, the request has "
                + prompt.length
                + " prompt tokens and asks for "
                + request.outputTokens()
                + " output tokens.",
            null);
      }
    }
  }

  private void checkQueue() {
    RejectReason reason = engine.scheduler().rejection();
    if (reason != null) {
      engine.counters().rejected(reason);
      throw new RequestError(
          503, "Service Unavailable", "queue: full (" + reason.label() + ")", null);
    }
  }
}
