package io.pointsman.engine.disagg;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.disagg.plan.SplitFacts;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the engine is asked for a request that two workers may serve: one question for each part.
 * One object for all attempts of the request; owned by the thread that serves it.
 */
public final class SplitRequest {
  private final RoutingRequest whole;
  private final RoutingRequest decode;
  private final RoutingRequest wholeByPrefill;

  /** In place of {@link #decode} where some have no part in a hand-over. */
  private final RoutingRequest wholeByDecode;

  private final List<Worker> unplannable = new ArrayList<>(0);
  private final SplitFacts facts;
  private RoutingRequest prefill;
  private boolean regularOnly;

  /**
   * @param model the model asked for; null if any worker will do
   * @param prefix the routing key
   * @param affinity whom the request belongs to; null if it does not say
   */
  public SplitRequest(
      @Nullable String model,
      PrefixBlocks prefix,
      @Nullable AffinityKey affinity,
      SplitFacts facts) {
    this(model, prefix, affinity, facts, RequestFields.NONE);
  }

  /**
   * @param model the model asked for; null if any worker will do
   * @param prefix the routing key
   * @param affinity whom the request belongs to; null if it does not say
   * @param fields what the client sent, as far as policies asked for it
   */
  public SplitRequest(
      @Nullable String model,
      PrefixBlocks prefix,
      @Nullable AffinityKey affinity,
      SplitFacts facts,
      RequestFields fields) {
    this.facts = requireNonNull(facts, "facts");
    RoutingRequest.Builder builder =
        RoutingRequest.builder().model(model).prefix(prefix).affinity(affinity).fields(fields);
    whole = builder.role(Role.REGULAR).stream(facts.stream()).build();
    decode = builder.role(Role.DECODE).build();
    wholeByDecode = builder.build();
    wholeByPrefill = builder.role(Role.PREFILL).build();
    prefill = builder.stream(false).build();
  }

  /** The answers pass by another way; to be said before any part is placed. */
  public void passesElsewhere() {
    whole.passesElsewhere();
    prefill.passesElsewhere();
    decode.passesElsewhere();
    wholeByDecode.passesElsewhere();
    wholeByPrefill.passesElsewhere();
  }

  /**
   * Only workers that are neither prefill nor decode may have it; to be said before any part is
   * placed, of a request that two workers cannot share.
   */
  public void onlyForRegular() {
    regularOnly = true;
  }

  /**
   * The prefill under way goes on by itself. The question it was placed by, whose notes are read
   * when it ends, is not asked again: another takes its place, for which the same workers are
   * tried.
   */
  public void prefillGoesOn() {
    RoutingRequest next = prefill.copy();
    prefill.tried().forEach(next::exclude);
    prefill = next;
  }

  boolean regularOnly() {
    return regularOnly;
  }

  public SplitFacts facts() {
    return facts;
  }

  /** The whole request, to a worker that is for nothing else. */
  public RoutingRequest whole() {
    return whole;
  }

  /** Its prompt. The answer comes in one piece. */
  public RoutingRequest prefill() {
    return prefill;
  }

  /** Its answer, or the whole of it on a decode worker that could have had that. */
  public RoutingRequest decode() {
    return decode;
  }

  /** The whole request, to a decode worker, also to one that has no part in a hand-over. */
  public RoutingRequest wholeByDecode() {
    if (unplannable.isEmpty()) {
      return decode;
    }
    for (Worker tried : decode.tried()) {
      if (!unplannable.contains(tried)) {
        wholeByDecode.exclude(tried);
      }
    }
    return wholeByDecode;
  }

  /** A decode worker has no part in a hand-over: nothing but the whole is left for it. */
  public void unplannable(Worker worker) {
    unplannable.add(worker);
    decode.exclude(worker);
  }

  /** The whole request, to a prefill worker. */
  public RoutingRequest wholeByPrefill() {
    return wholeByPrefill;
  }

  /** The part of it that is for workers of a role. */
  RoutingRequest of(Role role) {
    return switch (role) {
      case REGULAR -> whole;
      case PREFILL -> prefill;
      case DECODE -> decode;
    };
  }

  /** The model asked for; null if any worker will do. */
  public @Nullable String model() {
    return decode.model();
  }
}
