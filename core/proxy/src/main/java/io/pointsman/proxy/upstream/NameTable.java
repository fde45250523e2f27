package io.pointsman.proxy.upstream;

import io.netty.util.NetUtil;
import io.pointsman.engine.env.Ticker;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Cache of the addresses of workers' host names, for requests and probes. A lookup blocks, so it
 * runs on its own thread, one at a time per name. An unknown name is waited for. Expired addresses
 * are used while a lookup renews them. Each wait has a timeout, even if the lookup does not return.
 * A name that was not found is not looked up again for one second.
 *
 * <p>A name with several addresses yields them in turn: each result begins with the next one. An
 * address that could not be connected to is last for a while. Thread-safe.
 */
public final class NameTable {
  /** Maximum number of names; beyond it the table is cleared. */
  private static final int MAX_NAMES = 65_536;

  /** Maximum number of addresses of one name; further ones are ignored. */
  static final int MAX_ADDRESSES = 256;

  /** Time in nanoseconds for which an address without a connection is last. */
  private static final long AVOIDED_NANOS = 10_000_000_000L;

  /** Time in nanoseconds for which a failed lookup remains valid. */
  private static final long UNKNOWN_NANOS = 1_000_000_000L;

  private final Lookup lookup;
  private volatile long ttlNanos;
  private volatile long patienceNanos;
  private final Ticker ticker;
  private final Executor threads;
  private final Map<String, Name> names = new ConcurrentHashMap<>();

  /**
   * @param ttl time for which an address is valid
   * @param patience maximum wait for a lookup
   */
  public NameTable(Lookup lookup, Duration ttl, Duration patience, Ticker ticker) {
    this(lookup, ttl, patience, ticker, NameTable::startThread);
  }

  /**
   * @param threads runs each lookup on its own thread; throws if there is none
   */
  NameTable(Lookup lookup, Duration ttl, Duration patience, Ticker ticker, Executor threads) {
    this.lookup = lookup;
    ttlNanos = ttl.toNanos();
    patienceNanos = patience.toNanos();
    this.ticker = ticker;
    this.threads = threads;
  }

  /** Replaces the maximum wait for a lookup. Any thread. */
  public void patience(Duration next) {
    patienceNanos = next.toNanos();
  }

  /** Replaces the time for which an address is valid, also for addresses that are known. */
  public void ttl(Duration next) {
    ttlNanos = next.toNanos();
  }

  private static void startThread(Runnable task) {
    Thread.ofPlatform().daemon().name("pointsman-name").start(task);
  }

  /** Resolver of host names; may block. */
  @FunctionalInterface
  public interface Lookup {
    /** The addresses, at least one. */
    List<InetAddress> addresses(String host) throws UnknownHostException;
  }

  /** The name service of the system. It does not cache if the JVM's cache is off. */
  public static List<InetAddress> ofSystem(String host) throws UnknownHostException {
    return List.of(InetAddress.getAllByName(host));
  }

  /** Receiver of a result: addresses in the order in which to try them, or a failure. */
  interface Asker {
    void resolved(List<InetAddress> addresses);

    void unresolved(UnknownHostException cause);
  }

  /**
   * Passes the addresses of {@code host} to {@code asker}, once: before the return if they are
   * known, otherwise later on {@code executor}.
   */
  void resolve(String host, ScheduledExecutorService executor, Asker asker) {
    InetAddress literal = NetUtil.createInetAddressFromIpAddressString(host);
    if (literal != null) {
      asker.resolved(List.of(literal));
      return;
    }
    name(host).ask(executor, asker);
  }

  private Name name(String host) {
    if (names.size() >= MAX_NAMES) {
      names.clear();
    }
    return names.computeIfAbsent(host, Name::new);
  }

  /**
   * The addresses of {@code host}, in the order in which to try them. For virtual threads: blocks
   * until a lookup ends, if none is known.
   *
   * @param nanos maximum wait in nanoseconds
   * @throws UnknownHostException if there is no address, or none in time
   */
  public List<InetAddress> await(String host, long nanos) throws UnknownHostException {
    InetAddress literal = NetUtil.createInetAddressFromIpAddressString(host);
    return literal == null ? name(host).await(nanos) : List.of(literal);
  }

  /**
   * The address for the next request to {@code host}, if its name is known and has several;
   * otherwise null.
   */
  @Nullable InetAddress turn(String host) {
    Name name = names.get(host);
    return name == null ? null : name.turn();
  }

  /** Records that an address of {@code host} could not be connected to. */
  void failed(String host, InetAddress address) {
    Name name = names.get(host);
    if (name != null) {
      name.avoid(address);
    }
  }

  private static UnknownHostException tooLong(String host) {
    return new UnknownHostException(host + ": the DNS lookup takes too long");
  }

  /** A wait for a lookup. It gets one result, on its executor. */
  private static final class NameWaiter {
    private final ScheduledExecutorService executor;
    private final Asker asker;

    /** Belongs to the executor. */
    private boolean completed;

    NameWaiter(ScheduledExecutorService executor, Asker asker) {
      this.executor = executor;
      this.asker = asker;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the task does not fail
    void giveUpAfter(long nanos, String host) {
      executor.schedule(() -> complete(null, tooLong(host)), nanos, TimeUnit.NANOSECONDS);
    }

    void completeLater(@Nullable List<InetAddress> addresses, UnknownHostException failure) {
      try {
        executor.execute(() -> complete(addresses, failure));
      } catch (RejectedExecutionException _) {
        // The router has stopped; no result is needed.
      }
    }

    private void complete(@Nullable List<InetAddress> addresses, UnknownHostException failure) {
      if (completed) {
        return;
      }
      completed = true;
      if (addresses == null) {
        asker.unresolved(failure);
      } else {
        asker.resolved(addresses);
      }
    }
  }

  /** State of one name. */
  private final class Name {
    private final String host;
    private @Nullable List<InetAddress> addresses;

    /** Ticker time until which an address is last; only addresses of the name. */
    private final Map<InetAddress, Long> avoidedUntil = new HashMap<>();

    private int turn;
    private @Nullable UnknownHostException failure;
    private long knownSince;
    private boolean looking;
    private long lookingSince;
    private List<NameWaiter> waiting = new ArrayList<>();

    Name(String host) {
      this.host = host;
    }

    void ask(ScheduledExecutorService executor, Asker asker) {
      @Nullable List<InetAddress> known;
      UnknownHostException unknown;
      synchronized (this) {
        long now = ticker.nanos();
        if (!looking && dueAt(now)) {
          look(now);
        }
        known = inTurn(now);
        unknown = known == null ? reasonAt(now) : null;
        if (known == null && unknown == null) {
          NameWaiter one = new NameWaiter(executor, asker);
          waiting.add(one);
          one.giveUpAfter(patienceNanos, host);
        }
      }
      if (known != null) {
        asker.resolved(known);
      } else if (unknown != null) {
        asker.unresolved(unknown);
      }
    }

    synchronized List<InetAddress> await(long nanos) throws UnknownHostException {
      long end = ticker.nanos() + nanos;
      while (true) {
        long now = ticker.nanos();
        if (!looking && dueAt(now)) {
          look(now);
        }
        List<InetAddress> known = inTurn(now);
        if (known != null) {
          return known;
        }
        UnknownHostException unknown = reasonAt(now);
        long left = TimeUnit.NANOSECONDS.toMillis(end - now);
        if (unknown != null || left <= 0) {
          throw unknown == null ? tooLong(host) : unknown;
        }
        try {
          wait(left);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new UnknownHostException(host + ": DNS lookup interrupted");
        }
      }
    }

    /** The addresses, beginning with the next one; null if unknown. */
    private @Nullable List<InetAddress> inTurn(long now) {
      List<InetAddress> all = addresses;
      if (all == null || all.size() == 1) {
        return all;
      }
      turn = (turn + 1) % all.size();
      List<InetAddress> first = new ArrayList<>(all.size());
      List<InetAddress> last = new ArrayList<>();
      for (int i = 0; i < all.size(); i++) {
        InetAddress each = all.get((turn + i) % all.size());
        (avoided(each, now) ? last : first).add(each);
      }
      first.addAll(last);
      return first;
    }

    private boolean avoided(InetAddress address, long now) {
      Long until = avoidedUntil.get(address);
      return until != null && until - now > 0;
    }

    synchronized @Nullable InetAddress turn() {
      List<InetAddress> known = addresses;
      long now = ticker.nanos();
      if (known == null || known.size() == 1) {
        return null;
      }
      if (!looking && dueAt(now)) {
        look(now);
      }
      List<InetAddress> next = inTurn(now);
      return next == null ? null : next.getFirst();
    }

    synchronized void avoid(InetAddress address) {
      if (addresses != null && addresses.contains(address)) {
        avoidedUntil.put(address, ticker.nanos() + AVOIDED_NANOS);
      }
    }

    private boolean dueAt(long now) {
      return addresses == null ? reasonAt(now) == null : now - knownSince > ttlNanos;
    }

    private void look(long now) {
      try {
        threads.execute(this::lookUp);
        looking = true;
        lookingSince = now;
      } catch (OutOfMemoryError e) {
        // The system has temporarily no thread for the lookup.
        found(null, failed(e));
      }
    }

    /** The failure to report immediately; null if a wait for the address is useful. */
    private @Nullable UnknownHostException reasonAt(long now) {
      if (looking && now - lookingSince > patienceNanos) {
        return tooLong(host);
      }
      return failure != null && now - knownSince < UNKNOWN_NANOS ? failure : null;
    }

    private void lookUp() {
      try {
        List<InetAddress> all = lookup.addresses(host);
        found(all.subList(0, Math.min(all.size(), MAX_ADDRESSES)), null);
      } catch (UnknownHostException e) {
        found(null, e);
      } catch (RuntimeException | Error e) {
        found(null, failed(e));
      }
    }

    private UnknownHostException failed(Throwable cause) {
      UnknownHostException unknown = new UnknownHostException(host + ": " + cause);
      unknown.initCause(cause);
      return unknown;
    }

    /** Records a result. After a failed lookup an earlier address remains in use. */
    private void found(@Nullable List<InetAddress> now, @Nullable UnknownHostException why) {
      List<NameWaiter> completed;
      @Nullable List<InetAddress> inTurn;
      synchronized (this) {
        looking = false;
        knownSince = ticker.nanos();
        if (now != null) {
          addresses = List.copyOf(now);
          avoidedUntil.keySet().retainAll(now);
        }
        failure = addresses == null ? why : null;
        completed = waiting;
        waiting = new ArrayList<>();
        inTurn = now == null ? null : inTurn(knownSince);
        notifyAll();
      }
      UnknownHostException unknown = why == null ? new UnknownHostException(host) : why;
      completed.forEach(each -> each.completeLater(inTurn, unknown));
    }
  }
}
