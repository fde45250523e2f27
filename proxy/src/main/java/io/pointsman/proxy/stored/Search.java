package io.pointsman.proxy.stored;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.course.Courses;
import io.pointsman.request.RequestFacts;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The search for the worker that keeps a stored response: which workers are asked, one after the
 * other, and whether all that may keep it were. Belongs to the client's event loop.
 */
public final class Search {
  /** So many workers are asked at most. */
  private static final int MOST = 64;

  private final StoredResponse stored;
  private final RequestFacts facts;
  private final @Nullable Courses courses;
  private final RoutingEngine engine;

  /** Roles whose workers are asked when none of the present one has it. */
  private List<Role> further = List.of();

  private int without;
  private boolean cutShort;
  private Decision.@Nullable Rejected unasked;

  public Search(
      StoredResponse stored, RequestFacts facts, @Nullable Courses courses, RoutingEngine engine) {
    this.stored = stored;
    this.facts = facts;
    this.courses = courses;
    this.engine = engine;
  }

  /** The question with which it begins: for the owner, or for any worker of the first role. */
  public RoutingRequest begin() {
    String owner = stored.owner();
    if (courses == null) {
      return facts.toRoutingRequest(Role.REGULAR, owner);
    }
    List<Role> roles = courses.rolesOfKeepers(owner, !stored.byId(), facts.model());
    further = roles.subList(1, roles.size());
    return facts.toRoutingRequest(roles.getFirst(), owner);
  }

  /** Whether an answer with this status means that the next worker has to be asked. */
  public boolean goesOnAfter(int status) {
    return status == 404 && stored.searching();
  }

  /**
   * A worker does not have it. Ranks share what their server keeps: the others of that server,
   * which would say the same, are left out of the question.
   */
  public void notThere(Worker asked, RoutingRequest question) {
    without++;
    for (Worker each : engine.fleet().snapshot().workers()) {
      if (each != asked && each.spec().url().equals(asked.spec().url())) {
        question.exclude(each);
      }
    }
  }

  /** Whether so many did not have it that nobody else is asked. */
  public boolean exhausted() {
    return without >= MOST;
  }

  /** It ends without all having been asked. */
  public void cutShort() {
    cutShort = true;
  }

  /**
   * The next question, when the last one finds nobody any more: from the beginning if the owner
   * turns out to be gone, else for the workers of another role.
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

  /** Why some that may have it were not asked: they were too busy; null if none was. */
  public Decision.@Nullable Rejected unasked() {
    return unasked;
  }

  /** Whether some that may have it were not asked, so that it cannot be told that nobody has it. */
  public boolean incomplete() {
    return cutShort || unasked != null;
  }

  /** A worker has answered the request. */
  public void answered(int status, Worker by) {
    stored.answered(status, by);
  }
}
