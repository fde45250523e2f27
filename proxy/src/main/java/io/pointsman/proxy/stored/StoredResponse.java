package io.pointsman.proxy.stored;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import java.net.URLDecoder;
import org.jspecify.annotations.Nullable;

/**
 * The stored response that a request is about: only the worker that made it keeps it. If that
 * worker is not known, a request by the response's id is tried on one worker after the other until
 * one does not answer 404.
 */
public final class StoredResponse {
  private final ResponseOwners owners;
  private final String id;
  private final boolean byId;
  private final boolean deletes;
  private @Nullable String owner;

  private StoredResponse(ResponseOwners owners, String id, boolean byId, boolean deletes) {
    this.owners = owners;
    this.id = id;
    this.byId = byId;
    this.deletes = deletes;
    owner = owners.owner(id);
  }

  /** The stored response that a request is about; null if it is not about one. */
  public static @Nullable StoredResponse of(
      ResponseOwners owners, Endpoint endpoint, RequestHead head, RequestFacts facts) {
    String inPath = endpoint.responseId(head.path());
    if (inPath != null) {
      return new StoredResponse(
          owners, decoded(inPath), true, endpoint == Endpoint.RESPONSE_DELETE);
    }
    String previous = facts.responseId();
    return previous == null ? null : new StoredResponse(owners, previous, false, false);
  }

  /** Some clients write the colons of an id as {@code %3A}. */
  private static String decoded(String id) {
    try {
      return id.indexOf('%') < 0 ? id : URLDecoder.decode(id.replace("+", "%2B"), UTF_8);
    } catch (IllegalArgumentException e) {
      return id;
    }
  }

  /** The id of the worker that keeps it; null if not known. */
  public @Nullable String owner() {
    return owner;
  }

  /** Whether it is asked for itself, instead of being what the next one builds on. */
  public boolean byId() {
    return byId;
  }

  /** Whether a 404 only means that the next worker has to be asked. */
  public boolean searching() {
    return byId && owner == null;
  }

  /** Whether it is known, and in the fleet, which worker alone can serve the request. */
  public boolean ownedByAMember(RoutingEngine engine) {
    return owner != null && !forgetIfGone(engine);
  }

  /** Forgets a worker that is no longer in the fleet; whether that was so. */
  public boolean forgetIfGone(RoutingEngine engine) {
    if (owner == null || engine.fleet().snapshot().worker(owner) != null) {
      return false;
    }
    owners.forget(id);
    owner = null;
    return true;
  }

  /** A worker has answered the request. */
  public void answered(int status, Worker by) {
    if (!byId || status >= 300) {
      return;
    }
    if (deletes) {
      owners.forget(id);
    } else {
      owners.learn(id, by.id());
    }
  }
}
