package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvIndex;

/**
 * The capacity of one worker's cache. It is reported, else announced, else configured, and
 * corrected by the cached tokens of answers. A missing expected hit was evicted, so the capacity
 * shrinks; each hit lets it grow again.
 *
 * <p>Several consecutive misses without a hit mean that the engine has restarted or has no cache.
 * One miss is enough after an outage or a refused connection. These alone prove nothing, because
 * the engine may be busy or the network interrupted. A second refused connection of a later request
 * is enough, as is a failed probe.
 */
final class CapacityEstimator {
  /** Shorter expected hits are ignored. */
  static final int WORTH_TOKENS = 256;

  private static final double SHRINK = 0.97;
  private static final double GROW = 1.003;
  private static final double LEAST = 0.1;
  private static final int LOST_IN_A_ROW = 4;

  /** Number of consecutive restarts without a hit after which the engine has no cache. */
  private static final int KEEPS_NOTHING = 2;

  private final Worker worker;
  private final KvIndex announced;
  private final int configured;
  private double share = 1;
  private int lost;

  /** Number of consecutive losses of the whole cache without a hit in between. */
  private int lostAll;

  /** Number of the consecutive misses that found nothing at all. */
  private int nothing;

  /** First placement of these. */
  private long nothingSince;

  /** True if a prompt was found since the engine started, so it has a cache. */
  private boolean found;

  /**
   * A noticed restart: whether there was one, when, and up to which placements the cache is lost.
   */
  private boolean noticed;

  private long noticedAt;
  private long lostUntil;
  private int clears;
  private int outages;

  /** Read without the lock. */
  private volatile int restarts;

  /** True if the worker was unavailable and no prompt was found since. */
  private boolean wasOut;

  /** True if a connection was refused, and nothing has shown since that the engine runs. */
  private boolean doubted;

  private long doubtedAt;

  /**
   * @param announced the announcements of all workers
   * @param configured KV memory in tokens, if it is neither reported nor announced
   */
  CapacityEstimator(Worker worker, KvIndex announced, int configured) {
    this.worker = worker;
    this.announced = announced;
    this.configured = configured;
    outages = worker.health().outages();
    restarts = worker.health().restarts();
  }

  double declared() {
    int reported = worker.kvTokens();
    return reported > 0 ? reported : announced.capacityTokens(worker, configured);
  }

  /** Returns true if the worker has announced an empty cache since the last call. */
  boolean cleared() {
    int now = announced.clears(worker.slot());
    boolean news = now != clears;
    clears = now;
    return news;
  }

  /** Returns true if the engine has ended since the last call of {@link #ended}; any thread. */
  boolean hasEnded() {
    return worker.health().restarts() != restarts;
  }

  /** Returns true if the engine has ended since the last call, by the worker's health. */
  boolean ended() {
    int out = worker.health().outages();
    int ends = worker.health().restarts();
    boolean news = ends != restarts;
    if (out != outages) {
      wasOut = true;
      nothing = 0;
    }
    outages = out;
    restarts = ends;
    if (news) {
      lostAll = 0;
      startAgain();
    }
    return news;
  }

  /**
   * Starts again: missing prompts were lost by the restart, not evicted, unless the engine has no
   * cache.
   */
  private void startAgain() {
    if (found) {
      share = Math.min(1, share / Math.pow(SHRINK, nothing));
    }
    found = false;
    clearDoubts();
  }

  /** Clears all doubts: the engine has restarted, or it runs on. */
  private void clearDoubts() {
    lost = 0;
    nothing = 0;
    doubted = false;
    wasOut = false;
  }

  /** Returns up to which placements the cache was announced to be empty. */
  long emptyUntil(long now) {
    return announced.emptyUntil(worker.slot(), now);
  }

  /** Returns true if the engine seems to have no prefix cache. */
  boolean keepsNothing() {
    return lostAll >= KEEPS_NOTHING && !announced.live(worker.slot());
  }

  /** Returns the assumed capacity in tokens. */
  double tokens() {
    return keepsNothing() ? 0 : declared() * share;
  }

  /** Returns up to which placements the cache is lost, after {@link #restarted}. */
  long lostUntil() {
    return lostUntil;
  }

  /**
   * Learns from a request's end. If the engine is known to have a cache, placements from the first
   * miss on are in the cache of the new engine.
   *
   * @return true if the engine must have restarted
   */
  boolean restarted(PlacedPrompt entry, Outcome outcome, Usage usage, long now) {
    boolean restarted =
        switch (outcome) {
          case Outcome.Failed(Failure failure, boolean _) ->
              failure == Failure.CONNECT && refusedAgain(entry, now);
          case Outcome.Succeeded _, Outcome.Ignored _ -> foundNothing(entry, outcome, usage);
        };
    if (usage.cachedTokens() > 0) {
      lostAll = 0;
    } else if (restarted && !(outcome instanceof Outcome.Failed)) {
      lostAll++;
    }
    if (restarted) {
      boolean kept = found && nothing > 0 && !(outcome instanceof Outcome.Failed);
      lostUntil = kept ? nothingSince - 1 : now;
      noticed = true;
      noticedAt = now;
      startAgain();
    }
    return restarted;
  }

  /** Requests that failed together failed for one reason, so they count once. */
  private boolean refusedAgain(PlacedPrompt entry, long now) {
    if (doubted) {
      return entry.placedAt - doubtedAt >= 0;
    }
    doubted = true;
    doubtedAt = now;
    nothing = 0;
    return false;
  }

  private boolean foundNothing(PlacedPrompt entry, Outcome outcome, Usage usage) {
    if (usage.cachedTokens() < 0 || usage.promptTokens() <= 0) {
      // Without reported cached tokens, a served answer shows only that the engine runs.
      doubted &= !(outcome instanceof Outcome.Succeeded(boolean served) && served);
      return false;
    }
    // Requests placed before a noticed restart must miss.
    if (entry.certain < WORTH_TOKENS || (noticed && entry.placedAt - noticedAt <= 0)) {
      return false;
    }
    double expected = (double) entry.certain / entry.tokens;
    double cached = (double) usage.cachedTokens() / usage.promptTokens();
    if (cached >= 0.9 * expected) {
      clearDoubts();
      found = true;
      share = Math.min(1, share * GROW);
    } else if (cached < 0.5 * expected) {
      missed(entry, usage.cachedTokens() == 0);
    }
    return usage.cachedTokens() == 0
        && (lost >= LOST_IN_A_ROW || ((doubted || wasOut) && lost > 0));
  }

  private void missed(PlacedPrompt entry, boolean all) {
    if (all && (nothing == 0 || entry.placedAt - nothingSince < 0)) {
      nothingSince = entry.placedAt;
    }
    lost++;
    nothing += all ? 1 : 0;
    share = Math.max(LEAST, share * SHRINK);
  }
}
