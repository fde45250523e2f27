package io.pointsman.engine.policy;

import io.pointsman.engine.kv.KvTally;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reasons for the last pick of a request. The policy and its learners write them; explanations
 * read them. Owned by the request's thread.
 */
public final class PickNotes {
  /**
   * Prompt tokens of the request that had to be computed for one reason.
   *
   * @param tokens more than 0
   */
  public record Loss(CacheMiss reason, int tokens) {}

  private PickReason reason = PickReason.FALLBACK;
  private int matchedBlocks;
  private int knownBlocks;
  private boolean expectsHits;
  private KvTally.@Nullable Outcome lookup;
  private double predictedMillis = Double.NaN;
  private double plainMillis = Double.NaN;
  private double waitMillis = Double.NaN;
  private boolean placed;
  private long firstPlacedAt;
  private boolean held;
  private long heldSince;
  private boolean awaited;
  private boolean explained;
  private List<Candidate> candidates = List.of();
  private List<Loss> losses = List.of();

  /** Records a choice independent of prefixes. */
  public void because(PickReason reason) {
    because(reason, 0);
    expectsHits = false;
  }

  /**
   * @param matchedBlocks routing-key blocks expected on the chosen worker
   */
  public void because(PickReason reason, int matchedBlocks) {
    because(reason, matchedBlocks, matchedBlocks);
  }

  /**
   * @param matchedBlocks routing-key blocks expected on the chosen worker
   * @param knownBlocks routing-key blocks expected on the worker that holds most
   */
  public void because(PickReason reason, int matchedBlocks, int knownBlocks) {
    this.reason = reason;
    this.matchedBlocks = matchedBlocks;
    this.knownBlocks = knownBlocks;
    expectsHits = true;
    lookup = null;
    predictedMillis = Double.NaN;
    plainMillis = Double.NaN;
    waitMillis = Double.NaN;
    explained = false;
    candidates = List.of();
    losses = List.of();
  }

  /**
   * Records another reason for the same choice. Keeps the other notes, except the expected wait.
   */
  public void instead(PickReason reason) {
    this.reason = reason;
    goesAtOnce();
  }

  /** Returns true if the policy determined the cached part of the prompt on the chosen worker. */
  public boolean expectsHits() {
    return expectsHits;
  }

  /** Records the result of a lookup in the index of KV events. */
  public void lookedUp(KvTally.Outcome outcome) {
    lookup = outcome;
  }

  /** The result of the lookup in the index of KV events; null if there was none. */
  public KvTally.@Nullable Outcome lookup() {
    return lookup;
  }

  /** Records that the request is deferred since {@code at}. */
  public void heldSince(long at) {
    heldSince = held || placed ? heldSince : at;
    held |= !placed;
  }

  /** Records that the request waits because no worker is available. */
  public void awaits() {
    awaited = true;
  }

  /** Returns true if the request has waited because no worker was available. */
  public boolean awaited() {
    return awaited;
  }

  /** Start of the request: the time it was deferred, or else the time it was first placed. */
  public long askedAt() {
    return held ? heldSince : firstPlacedAt;
  }

  /** Records that a worker was chosen at {@code at}. */
  public void placed(long at) {
    firstPlacedAt = placed ? firstPlacedAt : at;
    placed = true;
  }

  /** Time of the request's first placement, which may precede the last attempt. */
  public long firstPlacedAt() {
    return firstPlacedAt;
  }

  /** Records the predicted time to first token, in milliseconds from the pick. */
  public void predict(double millis) {
    predictedMillis = millis;
  }

  /**
   * Records the time to first token predicted for least load with cached tokens as tie-breaker, in
   * milliseconds from the pick.
   */
  public void predictPlain(double millis) {
    plainMillis = millis;
  }

  /**
   * Records the predicted minimum wait for other requests over all workers, in milliseconds; 0 if a
   * worker has room.
   */
  public void waits(double millis) {
    waitMillis = millis;
  }

  /** Marks the choice as final independent of the wait: the request must not be deferred. */
  public void goesAtOnce() {
    waitMillis = Double.NaN;
  }

  /** Records the policy's evaluation of each worker; empty if the policy has none. */
  public void explain(List<Candidate> candidates) {
    explained = true;
    this.candidates = List.copyOf(candidates);
  }

  /** Records tokens that had to be computed; no effect unless the pick is explained. */
  public void lost(CacheMiss reason, int tokens) {
    if (explained) {
      losses = losses.isEmpty() ? new ArrayList<>(2) : losses;
      losses.add(new Loss(reason, tokens));
    }
  }

  /**
   * The predicted time to first token in milliseconds from the pick; NaN if there is no prediction.
   */
  public double predictedMillis() {
    return predictedMillis;
  }

  /**
   * The time to first token predicted for least load, in milliseconds from the pick; NaN without a
   * prediction or a choice.
   */
  public double plainMillis() {
    return plainMillis;
  }

  /**
   * The predicted minimum wait for other requests on any worker, in milliseconds. NaN if there is
   * no prediction, or if the choice was not made by time.
   */
  public double waitMillis() {
    return waitMillis;
  }

  public PickReason reason() {
    return reason;
  }

  /** Routing-key blocks expected on the chosen worker; 0 if the policy does not determine them. */
  public int matchedBlocks() {
    return matchedBlocks;
  }

  /** Routing-key blocks expected on any worker; at least {@link #matchedBlocks}. */
  public int knownBlocks() {
    return knownBlocks;
  }

  /** Returns true if the pick is explained, by request or by sampling. */
  public boolean explained() {
    return explained;
  }

  /** The policy's evaluation of each worker, for an explained pick. */
  public List<Candidate> candidates() {
    return candidates;
  }

  /** The reasons for uncached prompt tokens, after an explained request has ended. */
  public List<Loss> losses() {
    return List.copyOf(losses);
  }
}
