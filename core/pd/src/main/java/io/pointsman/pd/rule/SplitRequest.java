package io.pointsman.pd.rule;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.pd.plan.SplitFacts;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request that two workers may serve, with one routing request for each part. One object serves
 * all attempts of the request. It belongs to the thread that serves the request.
 */
public final class SplitRequest {
  private final RoutingRequest whole;
  private final RoutingRequest decode;
  private final RoutingRequest wholeByPrefill;

  /** Replaces {@link #decode} if some decode workers cannot take part in a handover. */
  private final RoutingRequest wholeByDecode;

  private final List<Worker> unplannable = new ArrayList<>(0);
  private final SplitFacts facts;
  private RoutingRequest prefill;
  private boolean regularOnly;

  /**
   * @param model the requested model; null if any worker qualifies
   * @param prefix the routing key
   * @param affinity the request's affinity key; null if there is none
   */
  public SplitRequest(
      @Nullable String model,
      PrefixBlocks prefix,
      @Nullable AffinityKey affinity,
      SplitFacts facts) {
    this(model, prefix, affinity, facts, RequestFields.NONE);
  }

  /**
   * @param model the requested model; null if any worker qualifies
   * @param prefix the routing key
   * @param affinity the request's affinity key; null if there is none
   * @param fields the client's fields that policies need
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

  /**
   * Marks that the responses do not pass through the router; to be called before any part is
   * placed.
   */
  public void passesElsewhere() {
    whole.passesElsewhere();
    prefill.passesElsewhere();
    decode.passesElsewhere();
    wholeByDecode.passesElsewhere();
    wholeByPrefill.passesElsewhere();
  }

  /** Sets the client's request id on each part. */
  public void named(@Nullable String id) {
    whole.named(id);
    prefill.named(id);
    decode.named(id);
    wholeByDecode.named(id);
    wholeByPrefill.named(id);
  }

  /** Excludes a worker from each part. */
  public void exclude(Worker worker) {
    for (RoutingRequest each : List.of(whole, prefill, decode, wholeByDecode, wholeByPrefill)) {
      each.exclude(worker);
    }
  }

  /** Marks that nobody sends the request; to be called before any part is placed. */
  public void previewOnly() {
    whole.previewOnly();
    prefill.previewOnly();
    decode.previewOnly();
    wholeByDecode.previewOnly();
    wholeByPrefill.previewOnly();
  }

  /** Lets workers serve each part that had its role when the request began. */
  void acceptEarlierRoles() {
    for (RoutingRequest each : List.of(prefill, decode, wholeByDecode, wholeByPrefill)) {
      each.acceptEarlierRoles();
    }
  }

  /** Returns true if nobody sends the request. */
  public boolean isPreview() {
    return whole.isPreview();
  }

  /**
   * Restricts the request to regular workers, because it cannot be split. To be called before any
   * part is placed.
   */
  public void onlyForRegular() {
    regularOnly = true;
  }

  /**
   * Replaces the prefill routing request while its prefill continues. The notes of the old one are
   * still read at its end. The new one excludes the same workers.
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

  /** The whole request, for a regular worker. */
  public RoutingRequest whole() {
    return whole;
  }

  /** The prompt's part, for a prefill worker; its response is not streamed. */
  public RoutingRequest prefill() {
    return prefill;
  }

  /**
   * The decode part, or the whole request on a decode worker that could also take part in a
   * handover.
   */
  public RoutingRequest decode() {
    return decode;
  }

  /** The whole request, for any decode worker, also one that cannot take part in a handover. */
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

  /**
   * Records that a decode worker cannot take part in a handover. It can only serve the whole
   * request.
   */
  public void unplannable(Worker worker) {
    unplannable.add(worker);
    decode.exclude(worker);
  }

  /** The whole request, for a prefill worker. */
  public RoutingRequest wholeByPrefill() {
    return wholeByPrefill;
  }

  /** Records that the request waits because no worker is available. */
  public void awaits() {
    for (RoutingRequest each : List.of(whole, prefill, decode, wholeByDecode, wholeByPrefill)) {
      each.waits().awaits();
    }
  }

  /** Returns the routing request for a role. */
  RoutingRequest of(Role role) {
    return switch (role) {
      case REGULAR -> whole;
      case PREFILL -> prefill;
      case DECODE -> decode;
    };
  }

  /** The requested model; null if any worker qualifies. */
  public @Nullable String model() {
    return decode.model();
  }
}
