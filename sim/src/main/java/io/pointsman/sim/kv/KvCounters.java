package io.pointsman.sim.kv;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What an engine's hand-overs have come to. Owned by the event loop. */
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

  /** A request whose KV is to be handed over. */
  public void prefill() {
    prefill++;
  }

  /** A request whose KV is to be taken over. */
  public void decode() {
    decode++;
  }

  /** A request without a hand-over. */
  public void direct() {
    direct++;
  }

  /** A request whose prompt is computed here because the hand-over failed. */
  public void recomputed() {
    recomputed++;
  }

  /** A wrong field. */
  public void wrong(FieldError error) {
    String key = fieldErrors.size() < FIELDS ? error.field() : "other";
    fieldErrors.merge(fieldErrors.containsKey(error.field()) ? error.field() : key, 1L, Long::sum);
    if (reasons.size() == REASONS) {
      reasons.removeFirst();
    }
    reasons.addLast(error.field() + ": " + error.reason());
  }

  /** KV sets out. */
  public void transferStarted() {
    maxInProgress = Math.max(maxInProgress, ++inProgress);
  }

  /** KV has arrived. */
  public void transferFinished(int transferred) {
    inProgress--;
    finished++;
    tokens += transferred;
  }

  /** KV is no longer wanted. */
  public void transferCancelled() {
    inProgress--;
  }

  /** Starts at zero again; what is on its way stays. */
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

  /** Requests by what they were. */
  public KvState.Legs legs() {
    return new KvState.Legs(prefill, decode, direct, recomputed);
  }

  /** Transfers. */
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
