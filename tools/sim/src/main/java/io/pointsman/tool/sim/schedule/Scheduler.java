package io.pointsman.tool.sim.schedule;

import io.pointsman.tool.sim.cache.BlockCache;
import io.pointsman.tool.sim.cache.BlockCache.Reservation;
import io.pointsman.tool.sim.schedule.Sequence.Phase;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The engine's loop: continuous batching with chunked prefill, first come, first served.
 *
 * <p>Time is an argument. A step starts if there is work and no step is running. It takes the
 * sequences present at that moment and ends after the time of the latency model. Then every
 * decoding sequence has one more token and every completed prompt its first. Prompt blocks are
 * findable from the start of the step that computes them, so equal prompts in one step use them
 * too. KV memory for prompt and output is reserved at admission. The head of the queue waits for
 * room, and no sequence overtakes it.
 *
 * <p>{@link StepRules} change this. Without chunks a step computes whole prompts or decodes, and
 * prompts go first. Speculative decoding produces several tokens per step.
 *
 * <p>Not thread-safe: owned by the engine's event loop, or by a replay.
 */
public final class Scheduler {
  /** Returned by {@link #advance} if nothing is scheduled. */
  public static final long NEVER = Long.MAX_VALUE;

  /** Maximum number of steps per call, so a loop without latency does not block others. */
  private static final int STEPS_PER_CALL = 512;

  private static final long[] NO_HASHES = {};

  private final EngineLimits limits;
  private final StepRules rules;
  private final SimLatencyModel latency;
  private final BlockCache cache;
  private final EngineTotals totals = new EngineTotals();
  private final LinkedHashSet<Sequence> waiting = new LinkedHashSet<>();
  private final List<Sequence> running = new ArrayList<>();
  private long stepEnd = NEVER;
  private long tokensInPrefill;

  /** True if sequences decode in the running step. */
  private boolean decodes;

  /** Creates an idle engine with an empty cache. */
  public Scheduler(EngineLimits limits, SimLatencyModel latency) {
    this.limits = limits;
    this.rules = limits.rules();
    this.latency = latency;
    this.cache = new BlockCache(limits.kvBlocks(), limits.blockSize());
  }

  public BlockCache cache() {
    return cache;
  }

  public EngineLimits limits() {
    return limits;
  }

  public EngineTotals totals() {
    return totals;
  }

  /** Resets all totals to zero; running and waiting sequences stay. */
  public void resetTotals() {
    totals.reset();
    totals.maxRunning = running.size();
    totals.maxWaiting = waiting.size();
  }

  /** Number of sequences in the batch. */
  public int running() {
    return running.size();
  }

  /** Number of sequences not admitted yet. */
  public int waiting() {
    return waiting.size();
  }

  /** Prompt tokens of sequences without a first token; cached ones are not subtracted. */
  public long tokensInPrefill() {
    return tokensInPrefill;
  }

  /**
   * Checks the queue limits.
   *
   * @return the limit that has been reached; null if the engine accepts more work
   */
  public @Nullable EngineRejection rejection() {
    int limit = limits.maxQueuedRequests();
    if (limit > 0 && running.size() + waiting.size() >= limit) {
      return EngineRejection.MAX_NUM_QUEUED_REQS;
    }
    long tokenLimit = limits.maxQueuedTokens();
    if (tokenLimit > 0 && tokensInPrefill >= tokenLimit) {
      return EngineRejection.MAX_NUM_QUEUED_TOKENS;
    }
    return null;
  }

  /**
   * Appends a sequence to the queue. It enters the queue after its time in the front end. The first
   * step that starts then or later considers it.
   *
   * @param now engine time in nanoseconds, not earlier than in previous calls
   * @throws IllegalArgumentException if it can never fit the KV memory or the model
   */
  public void submit(Sequence sequence, long now) {
    if (sequence.totalTokens() > limits.longestRequest()) {
      throw new IllegalArgumentException(
          "sequence: "
              + sequence.totalTokens()
              + " tokens (expected: at most "
              + limits.longestRequest()
              + ")");
    }
    sequence.arrivedAt = now + rules.frontEndNanos();
    waiting.add(sequence);
    tokensInPrefill += sequence.promptTokens();
    totals.maxWaiting = Math.max(totals.maxWaiting, waiting.size());
  }

  /** Removes a sequence in any phase and frees its memory; no effect after its end. */
  public void abort(Sequence sequence) {
    if (sequence.ended()) {
      return;
    }
    if (sequence.phase == Phase.QUEUED) {
      waiting.remove(sequence);
    } else {
      running.remove(sequence);
    }
    if (sequence.produced == 0) {
      tokensInPrefill -= sequence.promptTokens();
    }
    totals.aborted++;
    leave(sequence, Phase.ABORTED);
  }

  /**
   * Performs the work due at {@code now} or earlier.
   *
   * @return time of the next call, or {@link #NEVER}. It is the end of the running step, the next
   *     arrival from the front end, or {@code now} if more work is due.
   */
  public long advance(long now) {
    long before = stepEnd;
    for (int steps = 0; steps < STEPS_PER_CALL; steps++) {
      if (stepEnd > now) {
        if (stepEnd != NEVER) {
          return stepEnd;
        }
        if (!startStep(now)) {
          return nextArrival(now);
        }
        continue;
      }
      long at = stepEnd;
      finishStep(at);
      startStep(at);
    }
    if (stepEnd == before) {
      // The call has reached its maximum number of steps without duration. They continue at the
      // present time; otherwise later arrivals would never be admitted.
      stepEnd = now;
    }
    return Math.min(stepEnd, now);
  }

  /** Time of the next arrival from the front end after {@code now}; {@link #NEVER} if none. */
  private long nextArrival(long now) {
    long at = waiting.isEmpty() ? NEVER : waiting.getFirst().arrivedAt;
    return at > now ? at : NEVER;
  }

  private boolean startStep(long at) {
    int decoding = 0;
    long context = 0;
    int budget = limits.maxBatchedTokens();
    for (Sequence sequence : running) {
      sequence.chunk = 0;
      if (sequence.phase == Phase.DECODING) {
        decoding++;
        context += sequence.promptTokens() + sequence.produced;
      }
    }
    if (rules.chunkedPrefill()) {
      budget = Math.max(0, budget - decoding);
    }
    int prefill = continuePrefills(budget);
    prefill += admit(budget - prefill, at);
    decodes = rules.chunkedPrefill() || prefill == 0;
    if (!decodes) {
      decoding = 0;
      context = 0;
    }
    if (decoding + prefill == 0) {
      return false;
    }
    stepEnd =
        at
            + latency.stepNanos(
                new SimLatencyModel.Step(prefill, decoding, context, limits.capacityTokens()));
    return true;
  }

  private int continuePrefills(int budget) {
    int used = 0;
    for (int i = 0; i < running.size() && used < budget; i++) {
      Sequence sequence = running.get(i);
      if (sequence.phase == Phase.PREFILLING) {
        used += schedulePrefill(sequence, budget - used);
      }
    }
    return used;
  }

  private int admit(int budget, long at) {
    int used = 0;
    var queue = waiting.iterator();
    while (queue.hasNext() && used < budget && running.size() < limits.maxRunning()) {
      Sequence head = queue.next();
      if (head.arrivedAt > at || (used > 0 && !fits(head, budget - used))) {
        break;
      }
      Reservation room = cache.reserve(hashes(head), head.promptTokens(), head.totalTokens());
      if (room == null) {
        break;
      }
      queue.remove();
      enter(head, room, at);
      used += schedulePrefill(head, budget - used);
    }
    return used;
  }

  /** Returns true if a further prompt may join the step; without chunks, only as a whole. */
  private boolean fits(Sequence head, int budget) {
    int cached = cache.known(hashes(head)) * limits.blockSize();
    return rules.chunkedPrefill() || head.promptTokens() - cached <= budget;
  }

  private long[] hashes(Sequence sequence) {
    return rules.prefixCache() ? sequence.blockHashes : NO_HASHES;
  }

  private void enter(Sequence sequence, Reservation room, long at) {
    room.of(sequence.origin);
    sequence.reservation = room;
    sequence.cachedTokens = room.cachedTokens();
    sequence.computedTokens = Math.max(room.cachedTokens(), sequence.loadedTokens);
    sequence.phase = Phase.PREFILLING;
    sequence.admittedAt = at;
    running.add(sequence);
    totals.promptTokens += sequence.promptTokens();
    totals.cachedTokens += sequence.cachedTokens;
    totals.maxRunning = Math.max(totals.maxRunning, running.size());
  }

  private int schedulePrefill(Sequence sequence, int budget) {
    int left = sequence.promptTokens() - sequence.computedTokens;
    int chunk = rules.chunkedPrefill() ? Math.min(budget, left) : left;
    sequence.chunk = chunk;
    if (sequence.reservation != null) {
      cache.publish(sequence.reservation, sequence.computedTokens + chunk);
    }
    return chunk;
  }

  private void finishStep(long at) {
    stepEnd = NEVER;
    List<Sequence> batch = List.copyOf(running);
    for (Sequence sequence : batch) {
      switch (sequence.phase) {
        case PREFILLING -> prefilled(sequence, at);
        case DECODING -> {
          if (decodes) {
            produced(sequence, at);
          }
        }
        case QUEUED, FINISHED, ABORTED -> {}
      }
    }
    running.removeIf(Sequence::ended);
  }

  private void prefilled(Sequence sequence, long at) {
    sequence.computedTokens += sequence.chunk;
    sequence.chunk = 0;
    if (sequence.computedTokens == sequence.promptTokens()) {
      tokensInPrefill -= sequence.promptTokens();
      sequence.phase = Phase.DECODING;
      sequence.firstTokenAt = at;
      produced(sequence, at);
    }
  }

  private void produced(Sequence sequence, long at) {
    int gained = Math.min(gained(sequence), sequence.outputTokens() - sequence.produced);
    sequence.produced += gained;
    totals.generatedTokens += gained;
    if (sequence.produced == sequence.outputTokens()) {
      sequence.finishedAt = at;
      totals.finished++;
      leave(sequence, Phase.FINISHED);
    }
    sequence.listener.progressed(sequence);
  }

  /**
   * Tokens that the step adds to a sequence; the first token of a response is always a single one.
   */
  private int gained(Sequence sequence) {
    if (sequence.produced == 0) {
      return 1;
    }
    sequence.credit += rules.tokensPerStep();
    int whole = (int) sequence.credit;
    sequence.credit -= whole;
    return whole;
  }

  private void leave(Sequence sequence, Phase end) {
    sequence.phase = end;
    if (end == Phase.ABORTED || !sequence.keepsMemory) {
      free(sequence);
    }
  }

  /** Frees the memory of an ended sequence; no effect the second time. */
  public void free(Sequence sequence) {
    Reservation held = sequence.reservation;
    if (held != null) {
      sequence.reservation = null;
      cache.release(held);
    }
  }
}
