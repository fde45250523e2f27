package io.pointsman.proxy.stored;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.request.RequestFacts;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Search for the worker that has a stored response. It selects the workers to try, one after
 * another, and records if all candidates were tried. Belongs to the client's event loop.
 */
public final class Search {
  /** Maximum number of workers to try. */
  private static final int MOST = 64;

  private final StoredResponse stored;
  private final RequestFacts facts;
  private final RequestHandlers handlers;
  private final RoutingEngine engine;

  /** Roles of the workers to try after those of the present role. */
  private List<Role> further = List.of();

  private int without;
  private boolean cutShort;
  private Decision.@Nullable Rejected unasked;

  public Search(
      StoredResponse stored, RequestFacts facts, RequestHandlers handlers, RoutingEngine engine) {
    this.stored = stored;
    this.facts = facts;
    this.handlers = handlers;
    this.engine = engine;
  }

  /** The first request to the engine: for the owner, or for any worker of the first role. */
  public RoutingRequest begin() {
    String owner = stored.owner();
    List<Role> roles = handlers.rolesOfKeepers(owner, !stored.byId(), facts.model());
    further = roles.subList(1, roles.size());
    return facts.toRoutingRequest(roles.getFirst(), owner);
  }

  /** True if an answer with this status leads to the next worker. */
  public boolean goesOnAfter(int status) {
    return status == 404 && stored.searching();
  }

  /**
   * Records that a worker does not have the response. Ranks of one server share its responses. The
   * other ranks are therefore excluded from {@code question}.
   */
  public void notThere(Worker asked, RoutingRequest question) {
    without++;
    for (Worker each : engine.fleet().snapshot().workers()) {
      if (each != asked && each.spec().url().equals(asked.spec().url())) {
        question.exclude(each);
      }
    }
  }

  /** True if the maximum number of workers was tried. */
  public boolean exhausted() {
    return without >= MOST;
  }

  /** Records that the search ends before all candidates were tried. */
  public void cutShort() {
    cutShort = true;
  }

  /**
   * The next request to the engine after a rejection. If the owner has left, the search starts
   * again; otherwise it continues with another role.
   *
   * @return null if there is none
   */
  public @Nullable RoutingRequest next(Decision.Rejected rejected) {
    if (stored.forgetIfGone(engine)) {
      return begin();
    }
    if (!stored.searching()) {
      return null;
    }
    if (rejected.reason() == RejectReason.ALL_BUSY) {
      unasked = rejected;
    }
    if (further.isEmpty()) {
      return null;
    }
    Role role = further.getFirst();
    further = further.subList(1, further.size());
    return facts.toRoutingRequest(role, null);
  }

  /** The rejection of candidates that were too busy to be tried; null if there were none. */
  public Decision.@Nullable Rejected unasked() {
    return unasked;
  }

  /**
   * True if candidates were not tried. The search then cannot prove that the response does not
   * exist.
   */
  public boolean incomplete() {
    return cutShort || unasked != null;
  }

  /** Reports a worker's answer to the request. */
  public void answered(int status, Worker by) {
    stored.answered(status, by);
  }

  /** Reports that the client gets an answer with this status. */
  public void ended(int status) {
    if (status == 404 && without > 0 && !incomplete()) {
      stored.missing();
    }
  }

  /** Ends the search on every path. */
  public void end() {
    stored.endSearch();
  }
}
