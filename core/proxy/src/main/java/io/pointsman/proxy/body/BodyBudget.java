package io.pointsman.proxy.body;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Limit on the buffered bytes of all requests together, or of one client's within it. Thread-safe.
 */
public final class BodyBudget {
  /** The part of one client, and the number of its connections. */
  private static final class Share {
    private final BodyBudget budget;
    private double part;
    private int users;

    Share(BodyBudget budget) {
      this.budget = budget;
    }

    void resize(long all) {
      budget.most = (long) Math.ceil(all * part);
    }
  }

  private volatile long most;
  private final @Nullable BodyBudget all;
  private final AtomicLong taken = new AtomicLong();
  private final LongAdder refused = new LongAdder();

  /** Shares of the connected clients. */
  private final Map<String, Share> shares = new HashMap<>();

  /**
   * @param most maximum number of bytes
   */
  public BodyBudget(long most) {
    this(most, null);
  }

  private BodyBudget(long most, @Nullable BodyBudget all) {
    this.most = most;
    this.all = all;
  }

  /**
   * The budget of a client that connects. Its bytes count in this budget too. {@link #leave} must
   * follow. All connections of the client have the share of the newest one.
   *
   * @param client identity of the client
   * @param share maximum share of this budget, at most 1
   */
  public BodyBudget enter(String client, double share) {
    synchronized (shares) {
      Share own = shares.computeIfAbsent(client, _ -> new Share(new BodyBudget(0, this)));
      own.part = share;
      own.resize(most);
      own.users++;
      return own.budget;
    }
  }

  /** Reports that a connection of a client is closed. */
  public void leave(String client) {
    synchronized (shares) {
      Share own = shares.get(client);
      if (own != null && --own.users == 0) {
        shares.remove(client);
      }
    }
  }

  /** Replaces the maximum, and those of the clients; bytes that are reserved stay. */
  public void limit(long next) {
    synchronized (shares) {
      most = next;
      shares.values().forEach(share -> share.resize(next));
    }
  }

  /** Reserves {@code bytes}. If that exceeds the limit, returns false and counts a refusal. */
  public boolean take(long bytes) {
    if (taken.addAndGet(bytes) > most) {
      taken.addAndGet(-bytes);
      refuse();
      return false;
    }
    if (all != null && !all.take(bytes)) {
      taken.addAndGet(-bytes);
      return false;
    }
    return true;
  }

  private void refuse() {
    if (all == null) {
      refused.increment();
    } else {
      all.refuse();
    }
  }

  /** Releases bytes that {@link #take} reserved. */
  public void giveBack(long bytes) {
    taken.addAndGet(-bytes);
    if (all != null) {
      all.giveBack(bytes);
    }
  }

  /** True if {@code bytes} are free at present. Counts a refusal if not. Reserves nothing. */
  public boolean admits(long bytes) {
    if (taken.get() + bytes > most) {
      refuse();
      return false;
    }
    return all == null || all.admits(bytes);
  }

  /**
   * True if more than three quarters are reserved. Callers should then buffer less where they can.
   */
  public boolean tight() {
    return taken.get() > most - most / 4 || (all != null && all.tight());
  }

  /** Number of reserved bytes. */
  public long taken() {
    return taken.get();
  }

  /** Number of refusals since the start. */
  public long refused() {
    return refused.sum();
  }
}
