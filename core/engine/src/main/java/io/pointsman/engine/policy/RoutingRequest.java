package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The properties of a client request that determine its placement. One object serves all attempts
 * of the request. It belongs to the thread that serves the request.
 */
public final class RoutingRequest {
  /**
   * Maximum length in characters of a model name or identity that tables store. Requests with
   * longer ones are not recorded, because clients choose these texts and tables are bounded in
   * bytes.
   */
  public static final int LONGEST_KEPT = 256;

  private final @Nullable String model;
  private final Role role;
  private final PrefixBlocks prefix;
  private final @Nullable AffinityKey affinity;
  private final @Nullable String pinnedWorker;
  private final boolean explained;
  private final RequestFields fields;
  private final boolean stream;
  private boolean elsewhere;
  private boolean preview;
  private boolean acceptsEarlierRoles;
  private @Nullable String id;
  private PickResult result = PickResult.of(PickReason.FALLBACK);
  private @Nullable PickExplanation explanation;
  private final RequestWaits waits = new RequestWaits();
  private List<Worker> tried = List.of();

  /** Workers excluded for the next decision only; part of {@link #tried}. */
  private List<Worker> avoided = List.of();

  private RoutingRequest(Builder builder) {
    model = builder.model;
    role = builder.role;
    prefix = builder.prefix;
    affinity = builder.affinity;
    pinnedWorker = builder.pinnedWorker;
    stream = builder.stream;
    explained = builder.explained;
    fields = builder.fields;
  }

  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns a copy without tried workers, result and waits. Its {@link #observed} is the same, but
   * it is not {@link #elsewhere}: no other proxy carries the copy.
   */
  public RoutingRequest copy() {
    RoutingRequest copy =
        builder()
            .model(model)
            .role(role)
            .prefix(prefix)
            .affinity(affinity)
            .pinnedWorker(pinnedWorker)
            .stream(observed())
            .explained(explained)
            .fields(fields)
            .build();
    copy.id = id;
    copy.preview = preview;
    copy.acceptsEarlierRoles = acceptsEarlierRoles;
    return copy;
  }

  /** The client's request id, for logs; null if it is unknown. */
  public @Nullable String id() {
    return id;
  }

  /** Sets the client's request id. */
  public void named(@Nullable String requestId) {
    id = requestId;
  }

  /**
   * Marks a request that nobody sends. It is explained, it opens and moves no session, and it is
   * not logged.
   */
  public void previewOnly() {
    preview = true;
  }

  /** Returns true if nobody sends the request. */
  public boolean isPreview() {
    return preview;
  }

  /**
   * Lets workers serve it that had its role when it began, if none has the role now: the roles may
   * have changed since.
   */
  public void acceptEarlierRoles() {
    acceptsEarlierRoles = true;
  }

  /** Returns true if the roles of workers may have changed since it began. */
  public boolean acceptsEarlierRoles() {
    return acceptsEarlierRoles;
  }

  /** The requested model; null if the request names none and any worker qualifies. */
  public @Nullable String model() {
    return model;
  }

  public Role role() {
    return role;
  }

  /** The routing key. */
  public PrefixBlocks prefix() {
    return prefix;
  }

  /** The request's affinity key; null if there is none. */
  public @Nullable AffinityKey affinity() {
    return affinity;
  }

  /**
   * The id of the only worker that can serve the request, for example the one with a stored
   * response; null if any can.
   */
  public @Nullable String pinnedWorker() {
    return pinnedWorker;
  }

  /**
   * Returns true if there is a key to hash: an affinity key, or a routing key that is not empty.
   */
  public boolean keyed() {
    return affinity != null || prefix.count() > 0;
  }

  /**
   * Returns true if the response is a stream through the router. Only then silence indicates a
   * stall, and the first token is observed.
   */
  public boolean observed() {
    return stream && !elsewhere;
  }

  /**
   * Marks that another proxy carries the request, so its response does not pass through the router;
   * to be called before placement.
   */
  public void passesElsewhere() {
    elsewhere = true;
  }

  /** Returns true if another proxy carries the request. */
  public boolean elsewhere() {
    return elsewhere;
  }

  /** Returns true if an explanation of the decision is requested. */
  public boolean explained() {
    return explained || preview;
  }

  /**
   * The client's headers and body fields that policies asked for by {@link ReadsRequest}; {@link
   * RequestFields#NONE} if none did.
   */
  public RequestFields fields() {
    return fields;
  }

  /** The hash for hash policies: of the affinity key, else of the routing key. */
  public long affinityHash() {
    return affinity == null ? prefix.whole() : affinity.hash();
  }

  /** Workers already tried for this request; they are not chosen again. */
  public List<Worker> tried() {
    return tried;
  }

  /** Excludes a worker for the rest of this request. */
  public void exclude(Worker worker) {
    if (tried.isEmpty()) {
      tried = new ArrayList<>(2);
    }
    if (!tried.contains(worker)) {
      tried.add(worker);
    }
  }

  /**
   * Excludes workers that were not tried until the next call; an empty list readmits those of the
   * last call.
   */
  public void avoid(List<Worker> workers) {
    if (avoided.isEmpty() && workers.isEmpty()) {
      return;
    }
    List<Worker> left = new ArrayList<>(tried);
    left.removeAll(avoided);
    avoided = workers.stream().filter(worker -> !left.contains(worker)).toList();
    left.addAll(avoided);
    tried = left;
  }

  /** Returns true if a policy may choose {@code worker}. */
  public boolean admits(Worker worker, long now) {
    return worker.eligible(now) && (tried.isEmpty() || !tried.contains(worker));
  }

  /** Records the result of a pick: a picker calls this before it returns a worker. */
  public void picked(PickResult next) {
    result = next;
    explanation = null;
  }

  /** The result of the last pick. */
  public PickResult result() {
    return result;
  }

  /**
   * Explains the result.
   *
   * @param candidates the policy's evaluation of each worker; empty if the policy has none
   */
  public void explain(List<Candidate> candidates) {
    explanation = new PickExplanation(candidates);
  }

  /** Records tokens that had to be computed; no effect unless the pick is explained. */
  public void lost(CacheMiss reason, int tokens) {
    if (explanation != null) {
      explanation = explanation.plus(new PickExplanation.Loss(reason, tokens));
    }
  }

  /** The explanation of the result; null if the pick is not explained. */
  public @Nullable PickExplanation explanation() {
    return explanation;
  }

  /** The request's waits before its placement. */
  public RequestWaits waits() {
    return waits;
  }

  /** Builds a request; every property has a default. */
  public static final class Builder {
    private @Nullable String model;
    private Role role = Role.REGULAR;
    private PrefixBlocks prefix = PrefixBlocks.NONE;
    private @Nullable AffinityKey affinity;
    private @Nullable String pinnedWorker;
    private boolean stream = true;
    private boolean explained;
    private RequestFields fields = RequestFields.NONE;

    private Builder() {}

    public Builder model(@Nullable String model) {
      this.model = model;
      return this;
    }

    public Builder role(Role role) {
      this.role = requireNonNull(role, "role");
      return this;
    }

    public Builder prefix(PrefixBlocks prefix) {
      this.prefix = requireNonNull(prefix, "prefix");
      return this;
    }

    public Builder affinity(@Nullable AffinityKey affinity) {
      this.affinity = affinity;
      return this;
    }

    public Builder pinnedWorker(@Nullable String workerId) {
      pinnedWorker = workerId;
      return this;
    }

    /**
     * @param stream false for a non-streaming response
     */
    public Builder stream(boolean stream) {
      this.stream = stream;
      return this;
    }

    /**
     * @param explained true if the policy must evaluate each worker
     */
    public Builder explained(boolean explained) {
      this.explained = explained;
      return this;
    }

    /**
     * @param fields the client's headers and body fields that policies asked for
     */
    public Builder fields(RequestFields fields) {
      this.fields = requireNonNull(fields, "fields");
      return this;
    }

    public RoutingRequest build() {
      return new RoutingRequest(this);
    }
  }
}
