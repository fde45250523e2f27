package io.pointsman.engine.policy;

import io.pointsman.engine.kv.KvTally;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why the last pick of a request came out as it did. Written by the policy and by what learns for
 * it, read by whoever explains; owned by the request's thread.
 */
public final class PickNotes {
  /**
   * Prompt tokens of the request that had to be computed for one reason.
   *
   * @param tokens more than 0
   */
  public record Loss(LostHit reason, int tokens) {}

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
  private boolean explained;
  private List<Candidate> candidates = List.of();
  private List<Loss> losses = List.of();

  /** Notes a choice that had nothing to do with prefixes. */
  public void because(PickReason reason) {
    because(reason, 0);
    expectsHits = false;
  }

  /**
   * @param matchedBlocks blocks of the routing key that the chosen worker is thought to hold
   */
  public void because(PickReason reason, int matchedBlocks) {
    because(reason, matchedBlocks, matchedBlocks);
  }

  /**
   * @param matchedBlocks blocks of the routing key that the chosen worker is thought to hold
   * @param knownBlocks the same of the worker that holds most
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
   * Notes another reason for the same choice; all else that was noted stays, but for how long the
   * request would wait elsewhere.
   */
  public void instead(PickReason reason) {
    this.reason = reason;
    goesAtOnce();
  }

  /** Whether it was looked at how much of the prompt the chosen worker holds. */
  public boolean expectsHits() {
    return expectsHits;
  }

  /** Notes what looking the prompt up among announcements came to. */
  public void lookedUp(KvTally.Outcome outcome) {
    lookup = outcome;
  }

  /** What looking the prompt up among announcements came to; null if the policy did not look. */
  public KvTally.@Nullable Outcome lookup() {
    return lookup;
  }

  /** Notes that the request is held back since {@code at}. */
  public void heldSince(long at) {
    heldSince = held || placed ? heldSince : at;
    held |= !placed;
  }

  /** When the request was asked for: when it was held back, or else when it was placed first. */
  public long askedAt() {
    return held ? heldSince : firstPlacedAt;
  }

  /** Notes that the request was given a worker at {@code at}. */
  public void placed(long at) {
    firstPlacedAt = placed ? firstPlacedAt : at;
    placed = true;
  }

  /** When the first of the request's attempts was given a worker; the last may be a later one. */
  public long firstPlacedAt() {
    return firstPlacedAt;
  }

  /** Notes when the first token is expected, in milliseconds from the pick on. */
  public void predict(double millis) {
    predictedMillis = millis;
  }

  /**
   * Notes when the first token would be expected if least load decided, and cached tokens among
   * equals; in milliseconds from the pick on.
   */
  public void predictPlain(double millis) {
    plainMillis = millis;
  }

  /**
   * Notes how many milliseconds the request would wait at least for others, whichever of all
   * workers it were placed on; 0 if one has room for it.
   */
  public void waits(double millis) {
    waitMillis = millis;
  }

  /** The choice stands, however long the request will wait: it is not to be held back. */
  public void goesAtOnce() {
    waitMillis = Double.NaN;
  }

  /** Notes what the policy thought of each worker; empty if it has no opinion. */
  public void explain(List<Candidate> candidates) {
    explained = true;
    this.candidates = List.copyOf(candidates);
  }

  /** Notes tokens that had to be computed; without effect unless the pick is explained. */
  public void lost(LostHit reason, int tokens) {
    if (explained) {
      losses = losses.isEmpty() ? new ArrayList<>(2) : losses;
      losses.add(new Loss(reason, tokens));
    }
  }

  /**
   * When the policy expected the first token, in milliseconds from the pick on; NaN if it does not
   * predict.
   */
  public double predictedMillis() {
    return predictedMillis;
  }

  /**
   * When the first token was expected if least load had decided, in milliseconds from the pick on;
   * NaN if the policy does not predict, or had no choice.
   */
  public double plainMillis() {
    return plainMillis;
  }

  /**
   * Milliseconds that the request would wait at least for others on any worker; NaN if the policy
   * does not tell, or has chosen for another reason than how long it takes.
   */
  public double waitMillis() {
    return waitMillis;
  }

  public PickReason reason() {
    return reason;
  }

  /**
   * Blocks of the routing key that the chosen worker is thought to hold; 0 where the policy does
   * not look.
   */
  public int matchedBlocks() {
    return matchedBlocks;
  }

  /** Blocks of the routing key that some worker is thought to hold; at least those matched. */
  public int knownBlocks() {
    return knownBlocks;
  }

  /** Whether the pick is explained, because somebody asked or by chance. */
  public boolean explained() {
    return explained;
  }

  /** What the policy thought of each worker, of an explained pick. */
  public List<Candidate> candidates() {
    return candidates;
  }

  /** Why tokens of the prompt were not found in a cache, once an explained request has ended. */
  public List<Loss> losses() {
    return List.copyOf(losses);
  }
}
