package io.pointsman.plane.haproxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.HostPort;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps HAProxy's servers equal to the router's workers, without a reload. A server is made ready
 * before the map names it, and removed from the map before it goes to maintenance. Its streams
 * continue to their end, and its slot is reused only when no stream is left. A worker that HAProxy
 * cannot serve does not delay others. Called by one thread.
 */
final class FleetSlots {
  private static final Logger log = LoggerFactory.getLogger(FleetSlots.class);
  private static final String BACKEND = "workers/";

  /** Number of rounds between attempts to add a worker that failed to be added. */
  static final int PAUSE = 40;

  /**
   * Ids that are one word in a runtime API command, and not an entry number. Quotes are excluded,
   * because nginx's script ends an id at a quote.
   */
  private static final Pattern WORD = Pattern.compile("(?!#)[!#-:<-\\[\\]-~]+");

  /** Resolves the addresses of a host. */
  @FunctionalInterface
  interface Addresses {
    /**
     * The numeric addresses, the preferred one first; empty if they are not known yet.
     *
     * @throws IOException if the host has no address
     */
    List<String> of(String host) throws IOException;
  }

  /** HAProxy's server for a worker. */
  private record Known(String slot, URI url, String address) {}

  private final RuntimeApi haproxy;
  private final String map;
  private final Addresses addresses;
  private final Deque<String> free = new ArrayDeque<>();
  private final List<String> leaving = new ArrayList<>();

  /**
   * Slots with an incomplete removal, and the ids of their workers. They may still be in the map
   * and ready.
   */
  private final Map<String, String> undone = new LinkedHashMap<>();

  private final Map<String, Known> slots = new LinkedHashMap<>();

  /** Workers that HAProxy cannot serve, with the reason. */
  private Map<String, String> barred = Map.of();

  /** Workers that could not be added, with the rounds until the next attempt. */
  private final Map<String, Integer> failing = new HashMap<>();

  private boolean full;

  /** Read by other threads. */
  private volatile int size;

  FleetSlots(RuntimeApi haproxy, String map, int slots, Addresses addresses) {
    this.haproxy = haproxy;
    this.map = map;
    this.addresses = addresses;
    for (int i = 1; i <= slots; i++) {
      free.add("w" + i);
    }
  }

  /** Number of workers that HAProxy serves. */
  int size() {
    return size;
  }

  /** The host names to resolve for these workers. */
  static Set<String> hosts(Collection<URI> workers) {
    return workers.stream()
        .filter(url -> HostPort.of(url.getRawAuthority()) != null)
        .map(FleetSlots::host)
        .collect(Collectors.toSet());
  }

  private static String host(URI url) {
    return HostPort.ofUrl(url.toString()).host();
  }

  /**
   * Makes HAProxy's servers equal to {@code workers}, as far as it can serve them.
   *
   * @throws IOException if HAProxy cannot be reached
   */
  void follow(Map<String, URI> workers) throws IOException {
    for (Map.Entry<String, String> each : List.copyOf(undone.entrySet())) {
      forget(each.getValue(), each.getKey());
    }
    for (Map.Entry<String, Known> each : List.copyOf(slots.entrySet())) {
      if (!each.getValue().url().equals(workers.get(each.getKey()))) {
        remove(each.getKey());
      }
    }
    reuse();
    move();
    bar(workers);
    failing.keySet().retainAll(workers.keySet());
    List<Map.Entry<String, URI>> again = new ArrayList<>();
    for (Map.Entry<String, URI> worker : workers.entrySet()) {
      String id = worker.getKey();
      if (slots.containsKey(id) || barred.containsKey(id)) {
        continue;
      }
      if (failing.containsKey(id)) {
        again.add(worker);
      } else {
        add(id, worker.getValue());
      }
    }
    for (Map.Entry<String, URI> worker : again) {
      int rounds = failing.getOrDefault(worker.getKey(), 1) - 1;
      failing.put(worker.getKey(), rounds);
      if (rounds <= 0) {
        add(worker.getKey(), worker.getValue());
      }
    }
  }

  /**
   * Gives each worker with a new address a new server. A worker has not moved if its address is
   * still among those of its name. It also keeps its server if no slot is free.
   */
  private void move() throws IOException {
    for (Map.Entry<String, Known> each : List.copyOf(slots.entrySet())) {
      String id = each.getKey();
      Known known = each.getValue();
      List<String> now;
      try {
        now = addresses.of(host(known.url()));
      } catch (IOException e) {
        log.debug("worker {} keeps its address: the DNS lookup failed", LogText.of(id), e);
        continue;
      }
      if (!now.isEmpty() && !now.contains(known.address()) && hasSlot(id)) {
        log.info("worker {} has moved to {}", LogText.of(id), now.getFirst());
        remove(id);
        add(id, known.url(), now.getFirst());
      }
    }
  }

  private void bar(Map<String, URI> workers) {
    Map<String, String> now = new TreeMap<>();
    workers.forEach(
        (id, url) -> {
          String reason = reason(id, url);
          if (reason != null) {
            now.put(id, reason);
            if (!reason.equals(barred.get(id))) {
              log.warn(
                  "HAProxy cannot use worker {}: {}; its requests go to the other workers",
                  LogText.of(id),
                  LogText.of(reason));
            }
          }
        });
    barred = now;
  }

  /** The reason why HAProxy cannot serve a worker; null if it can. */
  private static @Nullable String reason(String id, URI url) {
    if (!WORD.matcher(id).matches()) {
      return "its id (expected: no spaces, quotes, semicolons or backslashes, no # in front)";
    }
    if (!"http".equals(url.getScheme()) || HostPort.of(url.getRawAuthority()) == null) {
      return url + " (expected: http://, because HAProxy connects to workers without TLS)";
    }
    String path = url.getPath();
    return path == null || path.isEmpty() || path.equals("/")
        ? null
        : url + " (expected: no path, because HAProxy would ignore it)";
  }

  private void add(String id, URI url) throws IOException {
    if (!hasSlot(id)) {
      return;
    }
    List<String> now;
    try {
      now = addresses.of(host(url));
    } catch (IOException e) {
      failed(id, e);
      return;
    }
    if (!now.isEmpty()) {
      add(id, url, now.getFirst());
    }
  }

  private boolean hasSlot(String id) {
    if (!free.isEmpty()) {
      return true;
    }
    if (!full) {
      log.warn("no slot is free for {}; its requests go to the other workers", LogText.of(id));
    }
    full = true;
    return false;
  }

  private void add(String id, URI url, String address) throws IOException {
    String slot = free.remove();
    // If a command fails, it is unknown which commands HAProxy has executed.
    undone.put(slot, id);
    try {
      int port = HostPort.ofUrl(url.toString()).portOr(80);
      haproxy.run("set server " + BACKEND + slot + " addr " + address + " port " + port);
      haproxy.run("set server " + BACKEND + slot + " state ready");
      haproxy.run("add map " + map + " " + id + " " + slot);
    } catch (RuntimeApi.Refused e) {
      rest(slot);
      undone.remove(slot);
      leaving.add(slot);
      failed(id, e);
      return;
    }
    undone.remove(slot);
    failing.remove(id);
    slots.put(id, new Known(slot, url, address));
    size = slots.size();
  }

  private void failed(String id, IOException why) {
    if (failing.put(id, PAUSE) == null) {
      log.warn(
          "HAProxy cannot add worker {} yet: {}; its requests go to the other workers",
          LogText.of(id),
          LogText.of(why));
    }
  }

  private void remove(String id) throws IOException {
    String slot = requireNonNull(slots.remove(id)).slot();
    size = slots.size();
    undone.put(slot, id);
    forget(id, slot);
  }

  private void forget(String id, String slot) throws IOException {
    try {
      haproxy.run("del map " + map + " " + id);
    } catch (RuntimeApi.Refused e) {
      log.debug("worker {} was not in the map", id, e);
    }
    rest(slot);
    undone.remove(slot);
    leaving.add(slot);
    full = false;
  }

  private void rest(String slot) throws IOException {
    try {
      haproxy.run("set server " + BACKEND + slot + " state maint");
    } catch (RuntimeApi.Refused e) {
      log.debug("server {} was not set to maintenance", slot, e);
    }
  }

  private void reuse() throws IOException {
    if (leaving.isEmpty()) {
      return;
    }
    Map<String, String> current = new HashMap<>();
    for (String line : haproxy.ask("show stat").lines().toList()) {
      String[] columns = line.split(",", -1);
      if (columns.length > 4 && columns[0].equals("workers")) {
        current.put(columns[1], columns[4]);
      }
    }
    for (String slot : List.copyOf(leaving)) {
      if ("0".equals(current.get(slot))) {
        leaving.remove(slot);
        free.add(slot);
      }
    }
  }
}
