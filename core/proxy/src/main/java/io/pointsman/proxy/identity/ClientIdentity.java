package io.pointsman.proxy.identity;

import static java.util.Objects.requireNonNull;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A client, as the router knows it.
 *
 * @param kind source of the name
 * @param name name of the client; contains no secret
 * @param models models that the client may use; empty: all
 * @param quotas own limits of the client
 * @param priority highest priority of its requests; null: that of clients without their own
 */
public record ClientIdentity(
    Kind kind, String name, Set<String> models, ClientQuotas quotas, @Nullable Priority priority) {
  /** Source of the name of a client. */
  public enum Kind {
    /** The address of its connection, or the one that a trusted proxy reports. */
    ADDRESS,
    /** The subject of its certificate. */
    CERTIFICATE,
    /** Its key of the router. */
    KEY,
    /** The server that has confirmed its key. */
    CONFIRMED
  }

  /** A client without an address of its connection. */
  public static final ClientIdentity UNKNOWN =
      new ClientIdentity(Kind.ADDRESS, "unknown", Set.of());

  public ClientIdentity {
    requireNonNull(kind, "kind");
    requireNonNull(name, "name");
    models = Set.copyOf(models);
    requireNonNull(quotas, "quotas");
  }

  /** A client without own limits and priority. */
  public ClientIdentity(Kind kind, String name, Set<String> models) {
    this(kind, name, models, ClientQuotas.NONE, null);
  }

  /** True if a key of the router names the client. That key is for the router, not for workers. */
  public boolean byKey() {
    return kind == Kind.KEY;
  }

  /** True if a key names the client: one of the router, or one that a server has confirmed. */
  public boolean named() {
    return kind == Kind.KEY || kind == Kind.CONFIRMED;
  }

  /** True if the client may use only some models. */
  public boolean restricted() {
    return !models.isEmpty();
  }

  /**
   * True if the client may use the model.
   *
   * @param model null if the request names none
   */
  public boolean mayUse(@Nullable String model) {
    return models.isEmpty() || (model != null && models.contains(model));
  }
}
