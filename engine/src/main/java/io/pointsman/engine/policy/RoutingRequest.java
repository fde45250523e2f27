package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What the engine is asked: everything of one client request that matters for placing it. One
 * object for all attempts of the request; owned by the thread that serves it.
 */
public final class RoutingRequest {
  /**
   * Characters of a model's name or an identity. Tables keep nothing of a request with longer ones,
   * so that they are bounded in bytes as well: both are a client's text.
   */
  public static final int LONGEST_KEPT = 256;

  private final @Nullable String model;
  private final Role role;
  private final PrefixBlocks prefix;
  private final @Nullable AffinityKey affinity;
  private final @Nullable String pinnedWorker;
  private final boolean explained;
  private final RequestFields fields;
  private boolean heard;
  private final PickNotes notes = new PickNotes();
  private List<Worker> tried = List.of();

  private RoutingRequest(Builder builder) {
    model = builder.model;
    role = builder.role;
    prefix = builder.prefix;
    affinity = builder.affinity;
    pinnedWorker = builder.pinnedWorker;
    heard = builder.stream;
    explained = builder.explained;
    fields = builder.fields;
  }

  public static Builder builder() {
    return new Builder();
  }

  /** The same question, with nothing tried and without notes. */
  public RoutingRequest copy() {
    return builder()
        .model(model)
        .role(role)
        .prefix(prefix)
        .affinity(affinity)
        .pinnedWorker(pinnedWorker)
        .stream(heard)
        .explained(explained)
        .fields(fields)
        .build();
  }

  /** The model asked for; null if the request names none and any worker will do. */
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

  /** Whom the request belongs to; null if it does not say. */
  public @Nullable AffinityKey affinity() {
    return affinity;
  }

  /**
   * The id of the only worker that can serve it, such as the one that keeps a stored response; null
   * if any can.
   */
  public @Nullable String pinnedWorker() {
    return pinnedWorker;
  }

  /** Whether there is anything to hash: an affinity key, or a routing key that is not empty. */
  public boolean keyed() {
    return affinity != null || prefix.count() > 0;
  }

  /**
   * Whether the answer comes piece by piece and passes here, so that silence means something and
   * its first token is heard of.
   */
  public boolean heard() {
    return heard;
  }

  /** The answer passes by another way; to be said before the request is placed. */
  public void passesElsewhere() {
    heard = false;
  }

  /** Whether somebody wants to know why the decision comes out as it does. */
  public boolean explained() {
    return explained;
  }

  /**
   * Headers and body fields that the client sent, as far as a policy of the router asked for them
   * by {@link ReadsRequest}; {@link RequestFields#NONE} if none did.
   */
  public RequestFields fields() {
    return fields;
  }

  /** What hash policies hash: the affinity key, else the routing key. */
  public long affinityHash() {
    return affinity == null ? prefix.whole() : affinity.hash();
  }

  /** Workers that have had an attempt of this request; they get no other. */
  public List<Worker> tried() {
    return tried;
  }

  /** Takes a worker out of choice for the rest of this request. */
  public void exclude(Worker worker) {
    if (tried.isEmpty()) {
      tried = new ArrayList<>(2);
    }
    if (!tried.contains(worker)) {
      tried.add(worker);
    }
  }

  /** Whether a policy may choose {@code worker}. */
  public boolean admits(Worker worker, long now) {
    return worker.eligible(now) && (tried.isEmpty() || !tried.contains(worker));
  }

  /** Where a policy leaves why it chose; read after the pick. */
  public PickNotes notes() {
    return notes;
  }

  /** Collects what is known of a request; everything has a default. */
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
     * @param stream false if the answer comes in one piece
     */
    public Builder stream(boolean stream) {
      this.stream = stream;
      return this;
    }

    /**
     * @param explained whether the notes shall tell what the policy thought of each worker
     */
    public Builder explained(boolean explained) {
      this.explained = explained;
      return this;
    }

    /**
     * @param fields what the client sent, as far as policies asked for it
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
