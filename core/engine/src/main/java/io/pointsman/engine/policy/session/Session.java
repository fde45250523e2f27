package io.pointsman.engine.policy.session;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One session of a {@link SessionTable}: its key, its worker and its use. Changed under the table's
 * lock, read without it.
 */
final class Session {
  /** A worker and the number of sessions bound to it. */
  static final class Home {
    private final Worker worker;
    private final AtomicInteger sessions = new AtomicInteger();

    Home(Worker worker) {
      this.worker = worker;
    }

    Worker worker() {
      return worker;
    }

    int sessions() {
      return sessions.get();
    }
  }

  private final AffinityKey key;
  private final @Nullable String model;
  private final Role role;
  private volatile Home home;
  private volatile @Nullable Session next;
  private volatile int inFlight;
  private volatile long idleSince;
  private boolean left;

  /**
   * @param next another session with the same value
   */
  Session(RoutingRequest request, AffinityKey key, Home home, long now, @Nullable Session next) {
    this.key = key;
    model = request.model();
    role = request.role();
    this.home = home;
    this.next = next;
    idleSince = now;
    home.sessions.incrementAndGet();
  }

  AffinityKey key() {
    return key;
  }

  Home home() {
    return home;
  }

  @Nullable Session next() {
    return next;
  }

  boolean isOf(AffinityKey asked, RoutingRequest request) {
    return key.equals(asked) && role == request.role() && Objects.equals(model, request.model());
  }

  boolean expired(long now, long ttlNanos) {
    return inFlight == 0 && now - idleSince > ttlNanos;
  }

  void moveTo(Home target) {
    home.sessions.decrementAndGet();
    target.sessions.incrementAndGet();
    home = target;
  }

  /** Records the removal from the table; its requests in flight continue to their end. */
  void leave() {
    left = true;
    home.sessions.decrementAndGet();
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // under the table's lock
  void began() {
    inFlight++;
  }

  /**
   * Records the end of one of its requests.
   *
   * @return true if it is in the table and has become idle
   */
  @SuppressWarnings("NonAtomicVolatileUpdate") // under the table's lock
  boolean ended(long now) {
    idleSince = now;
    inFlight--;
    return inFlight == 0 && !left;
  }

  /** The number of sessions in the chain that starts here. */
  int chained() {
    int count = 0;
    for (Session s = this; s != null; s = s.next) {
      count++;
    }
    return count;
  }

  /** The session of this chain that is idle for longest; null if all are in use. */
  @Nullable Session longestIdle() {
    Session longest = null;
    for (Session s = this; s != null; s = s.next) {
      boolean idle = s.inFlight == 0;
      if (idle && (longest == null || s.idleSince - longest.idleSince <= 0)) {
        longest = s;
      }
    }
    return longest;
  }

  /** Returns this chain without {@code session}; null if it becomes empty. */
  @Nullable Session without(Session session) {
    if (session == this) {
      return next;
    }
    for (Session s = this; s != null; s = s.next) {
      if (s.next == session) {
        s.next = session.next;
        return this;
      }
    }
    return this;
  }
}
