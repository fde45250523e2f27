package io.pointsman.plane.haproxy;

import io.pointsman.control.health.HostNames;
import io.pointsman.control.health.Rounds;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Addresses of worker host names. A thread per name resolves it periodically, so callers never wait
 * for a resolver. The addresses of the last three responses count, because responses may rotate or
 * be incomplete.
 */
final class FleetNames implements FleetSlots.Addresses, AutoCloseable {
  private static final int LOOK_UP_MILLIS = 2_000;
  private static final Duration PAUSE = Duration.ofSeconds(10);
  private static final int ANSWERS = 3;

  /** Maximum number of concurrent lookups. A lookup can occupy a thread beyond its timeout. */
  private static final int AT_ONCE = 8;

  private final FleetSlots.Addresses resolver;
  private final Duration pause;
  private final Semaphore lookUps = new Semaphore(AT_ONCE);
  private final Map<String, Name> names = new ConcurrentHashMap<>();
  private volatile boolean closed;

  FleetNames() {
    this(FleetNames::lookUp, PAUSE);
  }

  /**
   * @param resolver may block; called by many threads
   */
  FleetNames(FleetSlots.Addresses resolver, Duration pause) {
    this.resolver = resolver;
    this.pause = pause;
  }

  private static String bare(String host) {
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }

  private static List<String> lookUp(String host) throws IOException {
    return Arrays.stream(HostNames.addresses(bare(host), LOOK_UP_MILLIS))
        .map(InetAddress::getHostAddress)
        .toList();
  }

  /** State of one name. */
  private final class Name {
    private final String host;
    private final Deque<List<String>> answers = new ArrayDeque<>();
    private final Rounds rounds;
    private List<String> addresses = List.of();
    private @Nullable IOException problem;

    Name(String host) {
      this.host = host;
      rounds = Rounds.start("haproxy-name", pause, this::look);
    }

    private void look() {
      try {
        lookUps.acquire();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      try {
        resolved(resolver.of(host));
      } catch (IOException e) {
        failed(e);
      } finally {
        lookUps.release();
      }
    }

    private synchronized void resolved(List<String> answer) {
      answers.addFirst(answer);
      if (answers.size() > ANSWERS) {
        answers.removeLast();
      }
      Set<String> all = new LinkedHashSet<>();
      answers.forEach(all::addAll);
      addresses = List.copyOf(all);
    }

    private synchronized void failed(IOException why) {
      problem = why;
    }

    synchronized List<String> addresses() throws IOException {
      if (addresses.isEmpty() && problem != null) {
        throw new IOException(problem.getMessage(), problem);
      }
      return addresses;
    }
  }

  /**
   * The addresses of the last responses, newest first; empty until the first response.
   *
   * @throws IOException if the name was never resolved and the last lookup failed
   */
  @Override
  public List<String> of(String host) throws IOException {
    if (HostNames.isAddress(bare(host))) {
      return resolver.of(host);
    }
    Name name = names.computeIfAbsent(host, Name::new);
    if (closed) {
      retain(Set.of());
    }
    return name.addresses();
  }

  /** Stops lookups of all other names. */
  void retain(Collection<String> hosts) {
    names
        .values()
        .removeIf(
            name -> {
              boolean gone = !hosts.contains(name.host);
              if (gone) {
                name.rounds.close();
              }
              return gone;
            });
  }

  @Override
  public void close() {
    closed = true;
    retain(Set.of());
  }
}
