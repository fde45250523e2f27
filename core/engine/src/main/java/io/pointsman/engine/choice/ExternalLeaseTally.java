package io.pointsman.engine.choice;

import io.pointsman.engine.fleet.Outcome;
import java.util.concurrent.atomic.LongAdder;

/** Counters of the endings of held leases. They only increase. Any thread. */
public final class ExternalLeaseTally {
  private final LongAdder succeeded = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder ignored = new LongAdder();
  private final LongAdder expired = new LongAdder();
  private final LongAdder refused = new LongAdder();
  private final LongAdder promptTokens = new LongAdder();
  private final LongAdder cachedTokens = new LongAdder();
  private final LongAdder completionTokens = new LongAdder();

  ExternalLeaseTally() {}

  void settled(Outcome outcome, TokenCounts tokens) {
    switch (outcome) {
      case Outcome.Succeeded _ -> succeeded.increment();
      case Outcome.Failed _ -> failed.increment();
      case Outcome.Ignored _ -> ignored.increment();
    }
    promptTokens.add(tokens.prompt());
    cachedTokens.add(Math.max(0, tokens.cached()));
    completionTokens.add(tokens.completion());
  }

  void expires() {
    expired.increment();
  }

  void refuses() {
    refused.increment();
  }

  public long succeeded() {
    return succeeded.sum();
  }

  public long failed() {
    return failed.sum();
  }

  public long ignored() {
    return ignored.sum();
  }

  /** Leases that expired because they were not renewed or settled in time. */
  public long expired() {
    return expired.sum();
  }

  /** Choices refused because the maximum number of leases was held. */
  public long refused() {
    return refused.sum();
  }

  /** Prompt tokens that proxies reported. */
  public long promptTokens() {
    return promptTokens.sum();
  }

  public long cachedTokens() {
    return cachedTokens.sum();
  }

  public long completionTokens() {
    return completionTokens.sum();
  }
}
