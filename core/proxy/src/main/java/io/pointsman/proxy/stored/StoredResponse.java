package io.pointsman.proxy.stored;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import java.net.URLDecoder;
import org.jspecify.annotations.Nullable;

/**
 * The stored response that a request uses. Only the worker that created it has it. If the worker is
 * unknown, a request for the response tries one worker after another until one does not answer 404.
 */
public final class StoredResponse {
  private final ResponseOwners owners;
  private final String id;
  private final String client;
  private final boolean byId;
  private final boolean deletes;
  private final boolean cancels;
  private @Nullable String owner;
  private boolean searches;

  private StoredResponse(
      ResponseOwners owners, String id, String client, boolean byId, Endpoint endpoint) {
    this.owners = owners;
    this.id = id;
    this.client = client;
    this.byId = byId;
    deletes = endpoint == Endpoint.RESPONSE_DELETE;
    cancels = endpoint == Endpoint.RESPONSE_CANCEL;
    owner = owners.owner(id);
  }

  /**
   * The stored response that a request uses; null if there is none.
   *
   * @param client the client that sent the request, see {@link
   *     io.pointsman.proxy.identity.ClientOwner}
   */
  public static @Nullable StoredResponse of(
      ResponseOwners owners,
      Endpoint endpoint,
      RequestHead head,
      RequestFacts facts,
      String client) {
    String inPath = idInPath(endpoint, head);
    if (inPath != null) {
      return new StoredResponse(owners, inPath, client, true, endpoint);
    }
    String previous = facts.responseId();
    return previous == null ? null : new StoredResponse(owners, previous, client, false, endpoint);
  }

  /** True if a request creates a stored response or uses one. */
  public static boolean concerns(Endpoint endpoint, RequestFacts facts) {
    return endpoint.storedResponses() || facts.responseId() != null;
  }

  /**
   * True if the client may use the response.
   *
   * @param unknown true if clients may use a response of an unknown creator
   */
  public boolean permitted(boolean unknown) {
    return owners.mayUse(id, client, unknown);
  }

  /** True if a client with a name deletes or cancels a response that it has created. */
  public boolean endsOwn() {
    return (deletes || cancels) && !client.equals(ClientOwner.EVERYBODY) && permitted(false);
  }

  /** The id in the path of a request for a stored response; null for other requests. */
  public static @Nullable String idInPath(Endpoint endpoint, RequestHead head) {
    String inPath = endpoint.responseId(head.path());
    return inPath == null ? null : decoded(inPath);
  }

  /** Decodes an id, because some clients send its colons as {@code %3A}. */
  private static String decoded(String id) {
    try {
      return id.indexOf('%') < 0 ? id : URLDecoder.decode(id.replace("+", "%2B"), UTF_8);
    } catch (IllegalArgumentException e) {
      return id;
    }
  }

  /** Id of the worker that has the response; null if unknown. */
  public @Nullable String owner() {
    return owner;
  }

  /** True if the request is for the response itself; false if it continues the response. */
  public boolean byId() {
    return byId;
  }

  /** True if a 404 leads to the next worker. */
  public boolean searching() {
    return byId && owner == null;
  }

  /**
   * Starts the search for the worker, if one is necessary and permitted. {@link #endSearch} must
   * follow.
   *
   * @param several true if more than one worker may be asked
   */
  public StoredSearches.Verdict beginSearch(boolean several) {
    if (!several || !searching()) {
      return StoredSearches.Verdict.BEGUN;
    }
    StoredSearches.Verdict verdict = owners.searches().begin(id);
    searches = verdict == StoredSearches.Verdict.BEGUN;
    return verdict;
  }

  /** Ends the search, if one has begun. */
  void endSearch() {
    if (searches) {
      searches = false;
      owners.searches().end();
    }
  }

  /** Records that no worker has the response. */
  void missing() {
    if (searches) {
      owners.searches().missing(id);
    }
  }

  /** True if the owner is known and in the fleet. Only this worker can serve the request. */
  public boolean ownedByAMember(RoutingEngine engine) {
    return owner != null && !forgetIfGone(engine);
  }

  /** Discards an owner that has left the fleet. Returns true if it did. */
  public boolean forgetIfGone(RoutingEngine engine) {
    if (owner == null || engine.fleet().snapshot().worker(owner) != null) {
      return false;
    }
    owners.left(id);
    owner = null;
    return true;
  }

  /** Reports a worker's answer to the request. */
  public void answered(int status, Worker by) {
    if (!byId || status >= 300) {
      return;
    }
    if (deletes || cancels) {
      by.background().ended(id);
    }
    if (deletes) {
      owners.forget(id);
    } else {
      owners.learn(id, by.id(), client);
    }
  }
}
