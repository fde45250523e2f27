package io.pointsman.tool.sim.live;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.cache.PromptOrigin;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.schedule.EngineLimits;
import io.pointsman.tool.sim.schedule.EngineRejection;
import io.pointsman.tool.sim.schedule.Sequence;
import io.pointsman.tool.sim.schedule.Sequence.Phase;
import io.pointsman.tool.sim.text.InventedText;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One request in the engine: its sequences, and the pump that writes their tokens as fast as the
 * client reads. The text is a function of its seed, so tokens that are not written yet take no
 * memory. Owned by the event loop.
 */
public final class GenerationRun {
  private final EngineCore engine;
  private final HandOver handOver;
  private final Generation request;
  private final long serial;
  private final long created;
  private final List<Sequence> sequences = new ArrayList<>();
  private final List<InventedText> answers = new ArrayList<>();
  private final Runnable onProgress;
  private @Nullable JsonNode handedOver;
  private boolean submitted;
  private boolean aborted;
  private boolean cutOff;
  private boolean failed;
  private boolean marked;
  private boolean complete;
  private int unfinished;

  /**
   * Checks the request against the engine's limits.
   *
   * @param onProgress called after steps in which a sequence progressed
   * @throws RequestError 400 if it can never fit, 503 if the queue is full
   */
  GenerationRun(EngineCore engine, HandOver handOver, Runnable onProgress) {
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
        answers.add(new InventedText(BlockHashes.mix(request.seed() + 31L * answers.size())));
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

  public Generation request() {
    return request;
  }

  /** Returns an id unique among the runs of this engine and of engines with other ids. */
  public String id(String prefix) {
    return prefix
        + HexFormat.of().toHexDigits(BlockHashes.mix(engine.id().hashCode() + (serial << 32)));
  }

  /** Arrival of the request, in seconds since 1970. */
  public long created() {
    return created;
  }

  /** Number of responses: prompts times choices, with those of one prompt consecutive. */
  public int size() {
    return sequences.size();
  }

  /** The text of choice {@code index}. */
  public InventedText answer(int index) {
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

  /** Prompt tokens found in the prefix cache, for the first choice of every prompt. */
  public int cachedTokens() {
    int total = 0;
    for (int i = 0; i < sequences.size(); i += request.choices()) {
      total += sequences.get(i).cachedTokens();
    }
    return total;
  }

  /** Tokens generated so far over all choices. */
  public int completionTokens() {
    int total = 0;
    for (Sequence sequence : sequences) {
      total += sequence.produced();
    }
    return total;
  }

  /** Returns true if all sequences are complete. */
  public boolean finished() {
    return unfinished == 0;
  }

  public boolean aborted() {
    return aborted;
  }

  /** Returns true if the engine died. */
  public boolean failed() {
    return failed;
  }

  /** Length of choice {@code index} in tokens, which is shorter if the engine shut down. */
  public int length(int index) {
    return cutOff ? sequences.get(index).produced() : request.outputTokens();
  }

  /** {@code stop} or {@code length}; {@code abort} if the engine shut down. */
  public String finishReason() {
    return cutOff ? "abort" : request.finishReason();
  }

  /** Returns true if the engine shut down before all tokens were generated. */
  public boolean cutOff() {
    return cutOff;
  }

  /** The {@code kv_transfer_params} of the response; null: none. */
  public @Nullable JsonNode handedOver() {
    return handedOver;
  }

  /** The {@code kv_transfer_params} in the last chunk of a stream; null: none. */
  public @Nullable JsonNode handedOverInStreams() {
    return handOver.describesInStreams() ? handedOver : null;
  }

  /** Marks the KV of the prompt's first tokens as present before scheduling. */
  public void load(int tokens) {
    sequences.forEach(sequence -> sequence.load(tokens));
  }

  /** Keeps the memory of its first sequence after completion, until {@link #freeMemory}. */
  public void keepMemory() {
    sequences.getFirst().keepMemory();
  }

  /** Releases the memory kept by {@link #keepMemory}. */
  public void freeMemory() {
    engine.scheduler().free(sequences.getFirst());
    engine.driver().nudge();
  }

  void submit() {
    if (!aborted && !submitted && !engine.ended()) {
      submitted = true;
      engine.runs().add(this);
      sequences.forEach(engine.driver()::submit);
    }
  }

  /** Ends the run with the tokens so far, because the engine shuts down. */
  void cutShort() {
    if (stop()) {
      cutOff = true;
      complete = true;
      unfinished = 0;
      onProgress.run();
    }
  }

  /** Ends the run with an error, because the engine died. */
  void fail() {
    if (stop()) {
      failed = true;
      onProgress.run();
    }
  }

  /** Removes the run from the engine. Returns false if it is over. */
  private boolean stop() {
    engine.runs().remove(this);
    if (aborted || unfinished == 0) {
      return false;
    }
    sequences.forEach(engine.driver()::abort);
    handOver.lost();
    return true;
  }

  /** Aborts the run because its client left; counted by its phase. */
  public void abort() {
    if (!aborted) {
      engine.counters().aborted(abortPhase());
      drop();
    }
  }

  /** Aborts the run without counting a client that left. */
  public void drop() {
    if (!aborted) {
      aborted = true;
      engine.runs().remove(this);
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
    if (aborted || cutOff || failed) {
      return;
    }
    if (unfinished == 0 && !complete) {
      complete = true;
      engine.runs().remove(this);
      handedOver = handOver.finished(this);
    }
    onProgress.run();
  }

  private void checkLength() {
    EngineLimits limits = engine.scheduler().limits();
    for (int[] prompt : request.prompts()) {
      if ((long) prompt.length + request.outputTokens() > limits.longestRequest()) {
        engine.counters().rejected(EngineRejection.TOO_LONG);
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
    EngineRejection reason = engine.scheduler().rejection();
    if (reason != null) {
      engine.counters().rejected(reason);
      throw new RequestError(
          503, "Service Unavailable", "queue: full (" + reason.label() + ")", null);
    }
  }
}
