package io.pointsman.observe.decisions;

import io.pointsman.config.settings.DecisionSettings;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The most recent explained decisions. Decisions are explained at random or on request. A few per
 * second are explained in addition, so a router with few requests has decisions to show. Registered
 * as a learner after those of the policy. Thread-safe. An unexplained request costs one check of a
 * flag.
 */
public final class DecisionLog implements AnswerLearner {
  /** Decisions that are explained in addition to the random sample, each second. */
  static final int EACH_SECOND = 2;

  /** Maximum number of decisions that are explained in addition, in a row. */
  static final int IN_A_ROW = 32;

  /** Earlier decisions among which the other one of the same request is looked for. */
  private static final int PAIRED_WITHIN = 32;

  private static final int WHOLE = 1 << 20;

  private final Ticker ticker;
  private final RandomSource random;
  private volatile Kept kept;
  private final AtomicLong next = new AtomicLong();

  /** Decisions that may be explained in addition; below 0 for a moment. */
  private final AtomicInteger credits = new AtomicInteger(IN_A_ROW);

  /** Logged decisions in flight. */
  private final Map<LeaseView, LoggedDecision> open = new ConcurrentHashMap<>();

  /**
   * The settings with the memory that follows from them.
   *
   * @param threshold random numbers below it are in the sample
   * @param ring the decisions, each at its number modulo the length
   */
  private record Kept(
      DecisionSettings settings,
      int threshold,
      AtomicReferenceArray<@Nullable LoggedDecision> ring) {
    static Kept of(DecisionSettings settings) {
      return new Kept(
          settings,
          settings.keep() == 0 ? 0 : (int) Math.ceil(settings.sample() * WHOLE),
          new AtomicReferenceArray<>(settings.keep()));
    }

    void put(LoggedDecision decision) {
      ring.set((int) (decision.number % ring.length()), decision);
    }

    /** The decision with this number; null if the ring has another one in its place. */
    @Nullable LoggedDecision at(long number) {
      LoggedDecision found = ring.get((int) (number % ring.length()));
      return found != null && found.number == number ? found : null;
    }
  }

  public DecisionLog(DecisionSettings settings, Ticker ticker, RandomSource random) {
    this.ticker = ticker;
    this.random = random;
    kept = Kept.of(settings);
  }

  /**
   * Uses other settings. The most recent decisions stay, as many as the new memory has room for.
   * Any thread.
   */
  public synchronized void use(DecisionSettings next) {
    Kept before = kept;
    if (next.equals(before.settings)) {
      return;
    }
    Kept made = Kept.of(next);
    long end = this.next.get();
    int most = Math.min(before.ring.length(), made.ring.length());
    for (long number = Math.max(0, end - most); number < end; number++) {
      LoggedDecision decision = before.at(number);
      if (decision != null) {
        made.put(decision);
      }
    }
    kept = made;
  }

  public DecisionSettings settings() {
    return kept.settings;
  }

  public long now() {
    return ticker.nanos();
  }

  /** True if the next decision is in the random sample, or is one of the additional ones. */
  public boolean draws() {
    int threshold = kept.threshold;
    return threshold > 0 && (random.roll(WHOLE) < threshold || takesCredit());
  }

  private boolean takesCredit() {
    return credits.get() > 0 && credits.getAndDecrement() > 0;
  }

  /** Allows the additional decisions of one second; to be called once a second. */
  public void refill() {
    credits.updateAndGet(left -> Math.min(IN_A_ROW, Math.max(0, left) + EACH_SECOND));
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    Kept present = kept;
    if (request.explanation() != null && present.ring.length() > 0 && !request.isPreview()) {
      LoggedDecision decision = new LoggedDecision(next.getAndIncrement(), request, lease);
      open.put(lease, decision);
      present.put(decision);
      pair(present, decision);
    }
  }

  /** Prefill and decode are two decisions of one request, made shortly after each other. */
  private static void pair(Kept present, LoggedDecision decision) {
    long last = Math.max(0, decision.number - PAIRED_WITHIN);
    for (long number = decision.number - 1; number >= last; number--) {
      LoggedDecision other = present.at(number);
      if (other != null && other.agree(decision)) {
        return;
      }
    }
  }

  @Override
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    LoggedDecision decision = request.explanation() != null ? open.get(lease) : null;
    if (decision != null) {
      decision.firstToken(at);
    }
  }

  /** Only explained decisions use answers. */
  @Override
  public boolean observes(RoutingRequest request) {
    return request.explanation() != null;
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    LoggedDecision decision = request.explanation() != null ? open.remove(lease) : null;
    if (decision != null) {
      decision.ended(request, lease, outcome, ticker.nanos());
    }
  }

  /** Does nothing: past decisions remain valid. */
  @Override
  public void forget(Worker worker) {}

  /** The most recent decisions, newest first. */
  public List<LoggedDecision> newest(int most) {
    return newest(most, "");
  }

  /**
   * The most recent decisions with {@code text} in their request id, session, model or worker,
   * newest first. Upper and lower case do not count.
   */
  public List<LoggedDecision> newest(int most, String text) {
    String wanted = text.toLowerCase(Locale.ROOT);
    List<LoggedDecision> found = new ArrayList<>();
    Kept present = kept;
    long end = next.get();
    for (long number = end - 1;
        number >= 0 && number >= end - present.ring.length() && found.size() < most;
        number--) {
      LoggedDecision decision = present.at(number);
      if (decision != null && decision.mentions(wanted)) {
        found.add(decision);
      }
    }
    return found;
  }

  /** Number of logged decisions in flight. */
  public int inFlight() {
    return open.size();
  }
}
