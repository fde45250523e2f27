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
 * Cache of the addresses of workers' host names. A lookup blocks, so it runs on its own thread, one
 * at a time per name. An unknown name is waited for. An expired address is used while a lookup
 * renews it. Each wait has a timeout, even if the lookup does not return. A name that was not found
 * is not looked up again for one second. Thread-safe.
 */
public final class NameTable {
  /** Maximum number of names; beyond it the table is cleared. */
  private static final int MAX_NAMES = 65_536;

  /** Time in nanoseconds for which a failed lookup remains valid. */
  private static final long UNKNOWN_NANOS = 1_000_000_000L;

  private final Lookup lookup;
  private final long ttlNanos;
  private final long patienceNanos;
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

  private static void startThread(Runnable task) {
    Thread.ofPlatform().daemon().name("pointsman-name").start(task);
  }

  /** Resolver of host names; may block. */
  @FunctionalInterface
  public interface Lookup {
    InetAddress address(String host) throws UnknownHostException;
  }

  /** Receiver of a result: an address, or a failure. */
  interface Asker {
    void resolved(InetAddress address);

    void unresolved(UnknownHostException cause);
  }

  /**
   * Passes the address of {@code host} to {@code asker}, once: before the return if it is known,
   * otherwise later on {@code executor}.
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

  /** A wait for a lookup. It gets one result, on its executor. */
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
        // The router has stopped; no result is needed.
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

  /** State of one name. */
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

    /** Records a result. After a failed lookup an earlier address remains in use. */
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
