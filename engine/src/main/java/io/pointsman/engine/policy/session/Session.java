package io.pointsman.engine.policy.session;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One session of a {@link SessionTable}: whose it is, where it lives, whether it is in use. Changed
 * under the table's lock, read without it.
 */
final class Session {
  /** A worker, and how many sessions are bound to it. */
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

  /** It is no longer in the table; its requests in flight run to their end. */
  void leave() {
    left = true;
    home.sessions.decrementAndGet();
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // under the table's lock
  void began() {
    inFlight++;
  }

  /**
   * One of its requests has ended.
   *
   * @return whether it is in the table and idle from now on
   */
  @SuppressWarnings("NonAtomicVolatileUpdate") // under the table's lock
  boolean ended(long now) {
    idleSince = now;
    inFlight--;
    return inFlight == 0 && !left;
  }

  /** How many sessions the chain that starts here has. */
  int chained() {
    int count = 0;
    for (Session s = this; s != null; s = s.next) {
      count++;
    }
    return count;
  }

  /** The session idle for longest of the chain that starts here; null if all are in use. */
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

  /** The chain that starts here, without {@code session}; null if nothing is left of it. */
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
