package io.pointsman.engine.policy.session;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.session.Session.Home;
import java.time.Duration;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The binding of sessions to workers. A session consists of the requests with one {@link
 * AffinityKey} of kind SESSION for one model and role. It ages from the end of its last request, so
 * a session with requests in flight never expires.
 *
 * <p>The number of sessions is bounded, in total and per value. At a bound, the session that is
 * idle for longest is removed. If all have requests in flight, the new session is not stored.
 * Expired sessions are removed whenever a session is bound.
 *
 * <p>Safe for use by several threads. A lookup takes no lock. Binding, and the begin and end of a
 * session's requests, take one lock for a few assignments.
 */
public final class SessionTable implements Learner {
  /** Maximum number of sessions with one value, because they are searched linearly. */
  static final int MOST_OF_ONE_VALUE = 64;

  private final int maxSessions;
  private final long ttlNanos;
  private final Ticker ticker;

  /** Written under the lock. Sessions with the same value are chained by {@link Session#next()}. */
  private final ConcurrentHashMap<String, Session> byValue = new ConcurrentHashMap<>();

  private final Map<Worker, Home> homes = new HashMap<>();
  private final IdentityHashMap<LeaseView, Session> byLease = new IdentityHashMap<>();

  /** In the order in which they became idle. */
  private final LinkedHashSet<Session> idle = new LinkedHashSet<>();

  private int size;

  /**
   * @param maxSessions maximum number of sessions; at least 1
   * @param ttl retention of a session after the end of its last request
   */
  public SessionTable(int maxSessions, Duration ttl, Ticker ticker) {
    this.maxSessions = maxSessions;
    this.ticker = ticker;
    ttlNanos = ttl.toNanos();
  }

  /** The number of sessions. */
  public synchronized int size() {
    return size;
  }

  /** The number of sessions bound to {@code worker}. */
  public synchronized int sessions(Worker worker) {
    Home home = homes.get(worker);
    return home == null ? 0 : home.sessions();
  }

  /**
   * Ends a session at the client's request, for every header or field with its id and for every
   * model. Requests in flight continue to their end; the next request opens the session again.
   *
   * @return true if there was one
   */
  public synchronized boolean finish(String sessionId) {
    boolean found = false;
    for (Session s = byValue.get(sessionId); s != null; s = s.next()) {
      remove(s);
      found = true;
    }
    return found;
  }

  /** Returns true if {@code request} belongs to a session that can be stored. */
  static boolean concerns(RoutingRequest request) {
    AffinityKey key = request.affinity();
    String model = request.model();
    return key != null
        && key.kind() == AffinityKey.Kind.SESSION
        && key.value().length() <= RoutingRequest.LONGEST_KEPT
        && (model == null || model.length() <= RoutingRequest.LONGEST_KEPT);
  }

  /** Returns the worker bound to the request's session; null if there is none. */
  @Nullable Worker boundWorker(RoutingRequest request, long now) {
    Session session = find(request);
    return session == null || session.expired(now, ttlNanos) ? null : session.home().worker();
  }

  /**
   * Returns {@code worker} with its live session count, for a picker. A worker that has left is not
   * stored: a late picker may be built after the table has forgotten it.
   */
  synchronized Home home(Worker worker) {
    return worker.left() ? new Home(worker) : homes.computeIfAbsent(worker, Home::new);
  }

  /**
   * Binds the request's session to {@code target}, unless another thread has just bound it to a
   * worker that the request can use. A preview binds nothing.
   *
   * @param members the workers of the request's pool
   * @return the bound worker; null if all sessions that could make room are in use
   */
  synchronized @Nullable Worker bind(
      RoutingRequest request, Home target, Set<Worker> members, long now) {
    if (request.isPreview()) {
      return target.worker();
    }
    expire(now);
    Session session = find(request);
    if (session == null) {
      return open(request, target, now) ? target.worker() : null;
    }
    Worker bound = session.home().worker();
    if (members.contains(bound) && request.admits(bound, now)) {
      return bound;
    }
    session.moveTo(target);
    return target.worker();
  }

  /** Moves the request's session, unless another thread has just moved or ended it. */
  synchronized void move(RoutingRequest request, Worker from, Home target) {
    Session session = request.isPreview() ? null : find(request);
    if (session != null && session.home().worker() == from) {
      session.moveTo(target);
    }
  }

  private boolean open(RoutingRequest request, Home target, long now) {
    AffinityKey key = Objects.requireNonNull(request.affinity(), "affinity");
    if (!makeRoom(key.value())) {
      return false;
    }
    Session next = byValue.get(key.value());
    Session session = new Session(request, key, target, now, next);
    byValue.put(key.value(), session);
    idle.add(session);
    size++;
    return true;
  }

  /**
   * Makes room for one more session with {@code value}.
   *
   * @return false if that is not possible
   */
  private boolean makeRoom(String value) {
    Session first = byValue.get(value);
    Session longestIdle;
    if (first != null && first.chained() >= MOST_OF_ONE_VALUE) {
      longestIdle = first.longestIdle();
    } else if (size >= maxSessions) {
      longestIdle = idle.isEmpty() ? null : idle.getFirst();
    } else {
      return true;
    }
    if (longestIdle != null) {
      remove(longestIdle);
    }
    return longestIdle != null;
  }

  private @Nullable Session find(RoutingRequest request) {
    AffinityKey key = request.affinity();
    if (key == null) {
      return null;
    }
    Session s = byValue.get(key.value());
    while (s != null && !s.isOf(key, request)) {
      s = s.next();
    }
    return s;
  }

  private void expire(long now) {
    while (!idle.isEmpty() && idle.getFirst().expired(now, ttlNanos)) {
      remove(idle.getFirst());
    }
  }

  private void remove(Session session) {
    byValue.computeIfPresent(session.key().value(), (_, first) -> first.without(session));
    idle.remove(session);
    session.leave();
    size--;
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    if (!concerns(request)) {
      return;
    }
    synchronized (this) {
      Session session = find(request);
      if (session != null) {
        idle.remove(session);
        session.began();
        byLease.put(lease, session);
      }
    }
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    if (!concerns(request)) {
      return;
    }
    synchronized (this) {
      Session session = byLease.remove(lease);
      if (session != null && session.ended(ticker.nanos())) {
        idle.add(session);
      }
    }
  }

  @Override
  public synchronized void forget(Worker worker) {
    Home home = homes.remove(worker);
    if (home == null || home.sessions() == 0) {
      return;
    }
    for (Session first : byValue.values()) {
      for (Session s = first; s != null; s = s.next()) {
        if (s.home() == home) {
          remove(s);
        }
      }
    }
  }
}
