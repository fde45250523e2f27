package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvIndex;

/**
 * How large a worker's cache is: as declared, else as announcements show it, corrected by what its
 * answers say of cached tokens. A hit that was expected and did not come has been evicted, so there
 * is less room than thought; hits that come let it grow again. Several lost in a row, without one
 * that came, mean that the engine has started anew or keeps no cache. So does a single one after an
 * outage or a connection that could not be made, which alone say little: the engine may have been
 * busy, or the network away. A second one that could not be made, of a request placed later, says
 * enough, and so does a probe that fails next.
 */
final class CapacityEstimator {
  /** Smaller hits are not worth a conclusion. */
  static final int WORTH_TOKENS = 256;

  private static final double SHRINK = 0.97;
  private static final double GROW = 1.003;
  private static final double LEAST = 0.1;
  private static final int LOST_IN_A_ROW = 4;

  /** So many restarts in a row without a hit in between: the engine keeps no cache. */
  private static final int KEEPS_NOTHING = 2;

  private final Worker worker;
  private final KvIndex announced;
  private final int configured;
  private double share = 1;
  private int lost;

  /** How often in a row it lost everything that it had been sent, without a hit in between. */
  private int lostAll;

  /** Those of them that found nothing at all, since the last doubt arose. */
  private int nothing;

  /** When the first of these was placed. */
  private long nothingSince;

  /** Whether a prompt was found since the engine started: it keeps a cache. */
  private boolean found;

  /** Whether it was noticed to have started anew, when, and until when all was gone then. */
  private boolean noticed;

  private long noticedAt;
  private long goneUntil;
  private int clears;
  private int outages;

  /** Read without the lock. */
  private volatile int restarts;

  /** Whether it has been out, and no prompt was found since. */
  private boolean wasOut;

  /** Whether a connection has failed, since when, and nothing has proved since that it lives on. */
  private boolean doubted;

  private long doubtedAt;

  /**
   * @param announced what workers have announced of their caches
   * @param configured tokens of its KV memory, unless it says so itself or announcements show it
   */
  CapacityEstimator(Worker worker, KvIndex announced, int configured) {
    this.worker = worker;
    this.announced = announced;
    this.configured = configured;
    outages = worker.health().outages();
    restarts = worker.health().restarts();
  }

  double declared() {
    int told = worker.kvTokens();
    return told > 0 ? told : announced.capacityTokens(worker, configured);
  }

  /** Whether it has announced, since last asked, that its cache is empty. */
  boolean cleared() {
    int now = announced.clears(worker.slot());
    boolean news = now != clears;
    clears = now;
    return news;
  }

  /** Whether its engine has ended since {@link #ended} was last asked; any thread. */
  boolean hasEnded() {
    return worker.health().restarts() != restarts;
  }

  /** Whether its engine has ended since last asked, by what its health shows. */
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
      beginsAnew();
    }
    return news;
  }

  /** What was lost was not evicted, unless the engine keeps nothing at all. */
  private void beginsAnew() {
    if (found) {
      share = Math.min(1, share / Math.pow(SHRINK, nothing));
    }
    found = false;
    settled();
  }

  /** Nothing is doubted: it has begun anew, or has lived on. */
  private void settled() {
    lost = 0;
    nothing = 0;
    doubted = false;
    wasOut = false;
  }

  /** Until when what was placed there was gone when that was announced. */
  long emptyUntil(long now) {
    return announced.emptyUntil(worker.slot(), now);
  }

  /** Whether the engine seems to run without a prefix cache. */
  boolean keepsNothing() {
    return lostAll >= KEEPS_NOTHING && !announced.live(worker.slot());
  }

  /** Tokens that the cache is thought to hold. */
  double tokens() {
    return keepsNothing() ? 0 : declared() * share;
  }

  /** Until when what was placed there is gone, by what {@link #restarted} has found. */
  long goneUntil() {
    return goneUntil;
  }

  /**
   * Learns from a request's end; whether its engine must be taken to have started anew. What was
   * placed from the first on of those that found nothing is held by the new one, if it was known to
   * keep a cache.
   */
  boolean restarted(PlacedPrompt entry, Outcome outcome, Usage usage, long now) {
    boolean restarted =
        switch (outcome) {
          case Outcome.Failed(Failure failure) ->
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
      goneUntil = kept ? nothingSince - 1 : now;
      noticed = true;
      noticedAt = now;
      beginsAnew();
    }
    return restarted;
  }

  /** Requests that failed together failed for one reason. */
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
      // An engine that never tells cannot be judged by what it finds.
      doubted &= !(outcome instanceof Outcome.Succeeded(boolean served) && served);
      return false;
    }
    // What those counted on that were placed before is known to be gone.
    if (entry.certain < WORTH_TOKENS || (noticed && entry.placedAt - noticedAt <= 0)) {
      return false;
    }
    double expected = (double) entry.certain / entry.tokens;
    double cached = (double) usage.cachedTokens() / usage.promptTokens();
    if (cached >= 0.9 * expected) {
      settled();
      found = true;
      share = Math.min(1, share * GROW);
    } else if (cached < 0.5 * expected) {
      loses(entry, usage.cachedTokens() == 0);
    }
    return usage.cachedTokens() == 0
        && (lost >= LOST_IN_A_ROW || ((doubted || wasOut) && lost > 0));
  }

  private void loses(PlacedPrompt entry, boolean all) {
    if (all && (nothing == 0 || entry.placedAt - nothingSince < 0)) {
      nothingSince = entry.placedAt;
    }
    lost++;
    nothing += all ? 1 : 0;
    share = Math.max(LEAST, share * SHRINK);
  }
}
