package io.pointsman.tool.sim.kv;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Counters of an engine's KV transfers. Owned by the event loop. */
public final class KvCounters {
  private static final int REASONS = 200;
  private static final int FIELDS = 100;

  private final Map<String, Long> fieldErrors = new TreeMap<>();
  private final Deque<String> reasons = new ArrayDeque<>();
  private long prefill;
  private long decode;
  private long direct;
  private long recomputed;
  private int inProgress;
  private int maxInProgress;
  private long finished;
  private long tokens;

  /** Counts a request for prefill. */
  public void prefill() {
    prefill++;
  }

  /** Counts a request for decode. */
  public void decode() {
    decode++;
  }

  /** Counts a request without a handover. */
  public void direct() {
    direct++;
  }

  /** Counts a request with a failed handover; its prompt is computed here. */
  public void recomputed() {
    recomputed++;
  }

  /** Counts a wrong field. */
  public void wrong(FieldError error) {
    String key = fieldErrors.size() < FIELDS ? error.field() : "other";
    fieldErrors.merge(fieldErrors.containsKey(error.field()) ? error.field() : key, 1L, Long::sum);
    if (reasons.size() == REASONS) {
      reasons.removeFirst();
    }
    reasons.addLast(error.field() + ": " + error.reason());
  }

  /** Counts the start of a transfer. */
  public void transferStarted() {
    maxInProgress = Math.max(maxInProgress, ++inProgress);
  }

  /** Counts the end of a transfer. */
  public void transferFinished(int transferred) {
    inProgress--;
    finished++;
    tokens += transferred;
  }

  /** Counts a cancelled transfer. */
  public void transferCancelled() {
    inProgress--;
  }

  /** Resets the counters to zero; transfers in progress stay. */
  public void reset() {
    fieldErrors.clear();
    reasons.clear();
    prefill = 0;
    decode = 0;
    direct = 0;
    recomputed = 0;
    maxInProgress = inProgress;
    finished = 0;
    tokens = 0;
  }

  /** Requests by kind. */
  public KvState.StepCounts steps() {
    return new KvState.StepCounts(prefill, decode, direct, recomputed);
  }

  /** The transfers. */
  public KvState.Transfers transfers(int waiting) {
    return new KvState.Transfers(waiting, inProgress, maxInProgress, finished, tokens);
  }

  /** Wrong fields by name. */
  public Map<String, Long> fieldErrors() {
    return new TreeMap<>(fieldErrors);
  }

  /** The last wrong fields with their reasons. */
  public List<String> reasons() {
    return List.copyOf(reasons);
  }
}
