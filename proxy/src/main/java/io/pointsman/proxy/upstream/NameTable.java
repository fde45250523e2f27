package io.pointsman.proxy.upstream;

import io.netty.util.NetUtil;
import io.pointsman.engine.env.Ticker;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Addresses of workers' names. Looking a name up blocks, so it is done on threads of its own, never
 * on an event loop, and one at a time for each name: an unknown name is waited for, an aged one is
 * used while it is looked up anew. Whoever waits does so for a bounded time, whatever the look-up
 * does; a name that was not found is not looked up again for a moment. Safe for use by several
 * threads.
 */
public final class NameTable {
  /** Names kept at most; beyond it the table starts anew. */
  private static final int MAX_NAMES = 65_536;

  /** How long a name that was not found is taken to be unknown. */
  private static final long UNKNOWN_NANOS = 1_000_000_000L;

  private final Lookup lookup;
  private final long ttlNanos;
  private final long patienceNanos;
  private final Ticker ticker;
  private final Executor threads;
  private final Map<String, Name> names = new ConcurrentHashMap<>();

  /**
   * @param ttl how long an address is used before its name is looked up again
   * @param patience how long a look-up is waited for
   */
  public NameTable(Lookup lookup, Duration ttl, Duration patience, Ticker ticker) {
    this(lookup, ttl, patience, ticker, NameTable::startThread);
  }

  /**
   * @param threads runs each look-up on a thread of its own, or throws if there is none
   */
  NameTable(Lookup lookup, Duration ttl, Duration patience, Ticker ticker, Executor threads) {
    this.lookup = lookup;
    ttlNanos = ttl.toNanos();
    patienceNanos = patience.toNanos();
    this.ticker = ticker;
    this.threads = threads;
  }

  private static void startThread(Runnable task) {
    Thread.ofPlatform().daemon().name("pointsman-name").start(task);
  }

  /** Finds the address of a name; may block. */
  @FunctionalInterface
  public interface Lookup {
    InetAddress address(String host) throws UnknownHostException;
  }

  /** Gets to know the address of a name, or that there is none. */
  interface Asker {
    void resolved(InetAddress address);

    void unresolved(UnknownHostException cause);
  }

  /**
   * Tells {@code asker} the address of {@code host}, once: before it returns if it is known, else
   * later on {@code executor}.
   */
  void resolve(String host, ScheduledExecutorService executor, Asker asker) {
    InetAddress literal = NetUtil.createInetAddressFromIpAddressString(host);
    if (literal != null) {
      asker.resolved(literal);
      return;
    }
    if (names.size() >= MAX_NAMES) {
      names.clear();
    }
    names.computeIfAbsent(host, Name::new).ask(executor, asker);
  }

  private static UnknownHostException tooLong(String host) {
    return new UnknownHostException(host + ": the DNS lookup takes too long");
  }

  /** Somebody who waits for a look-up; told once, on its executor. */
  private static final class Waiting {
    private final ScheduledExecutorService executor;
    private final Asker asker;

    /** Belongs to the executor. */
    private boolean told;

    Waiting(ScheduledExecutorService executor, Asker asker) {
      this.executor = executor;
      this.asker = asker;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the task does not fail
    void giveUpAfter(long nanos, String host) {
      executor.schedule(() -> tell(null, tooLong(host)), nanos, TimeUnit.NANOSECONDS);
    }

    void tellLater(@Nullable InetAddress address, UnknownHostException failure) {
      try {
        executor.execute(() -> tell(address, failure));
      } catch (RejectedExecutionException _) {
        // The router has stopped meanwhile; nobody waits any more.
      }
    }

    private void tell(@Nullable InetAddress address, UnknownHostException failure) {
      if (told) {
        return;
      }
      told = true;
      if (address == null) {
        asker.unresolved(failure);
      } else {
        asker.resolved(address);
      }
    }
  }

  /** What is known of one name. */
  private final class Name {
    private final String host;
    private @Nullable InetAddress address;
    private @Nullable UnknownHostException failure;
    private long knownSince;
    private boolean looking;
    private long lookingSince;
    private List<Waiting> waiting = new ArrayList<>();

    Name(String host) {
      this.host = host;
    }

    void ask(ScheduledExecutorService executor, Asker asker) {
      InetAddress known;
      UnknownHostException unknown;
      synchronized (this) {
        long now = ticker.nanos();
        if (!looking && dueAt(now)) {
          look(now);
        }
        known = address;
        unknown = known == null ? reasonAt(now) : null;
        if (known == null && unknown == null) {
          Waiting one = new Waiting(executor, asker);
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

    private boolean dueAt(long now) {
      return address == null ? reasonAt(now) == null : now - knownSince > ttlNanos;
    }

    private void look(long now) {
      try {
        threads.execute(this::lookUp);
        looking = true;
        lookingSince = now;
      } catch (OutOfMemoryError e) {
        // That is how the system's want of threads shows, which passes.
        found(null, failed(e));
      }
    }

    /** Why there is no address, if it makes no sense to wait for one now. */
    private @Nullable UnknownHostException reasonAt(long now) {
      if (looking && now - lookingSince > patienceNanos) {
        return tooLong(host);
      }
      return failure != null && now - knownSince < UNKNOWN_NANOS ? failure : null;
    }

    private void lookUp() {
      try {
        found(lookup.address(host), null);
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

    /** An address that was known stays in use while its name is not found. */
    private void found(@Nullable InetAddress now, @Nullable UnknownHostException why) {
      List<Waiting> told;
      synchronized (this) {
        looking = false;
        knownSince = ticker.nanos();
        address = now == null ? address : now;
        failure = now == null && address == null ? why : null;
        told = waiting;
        waiting = new ArrayList<>();
      }
      UnknownHostException unknown = why == null ? new UnknownHostException(host) : why;
      told.forEach(each -> each.tellLater(now, unknown));
    }
  }
}
