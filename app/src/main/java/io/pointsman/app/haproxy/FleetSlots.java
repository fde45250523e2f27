package io.pointsman.app.haproxy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps HAProxy's servers up with the router's workers, without a reload. A server is ready before
 * the map names it, and the map forgets it before it goes to maintenance; streams on it run to
 * their end, and its slot is used again only when nothing is left there. Called by one thread.
 */
final class FleetSlots {
  private static final Logger log = LoggerFactory.getLogger(FleetSlots.class);
  private static final String BACKEND = "workers/";

  /** What may stand in a command of the runtime API as one word. */
  private static final Pattern WORD = Pattern.compile("[!-:<-\\[\\]-~]+");

  private final RuntimeApi haproxy;
  private final String map;
  private final Deque<String> free = new ArrayDeque<>();
  private final List<String> leaving = new ArrayList<>();
  private final Map<String, String> slots = new LinkedHashMap<>();
  private final Map<String, URI> urls = new HashMap<>();
  private Set<String> refused = Set.of();
  private boolean full;

  /** Read by other threads. */
  private volatile int size;

  FleetSlots(RuntimeApi haproxy, String map, int slots) {
    this.haproxy = haproxy;
    this.map = map;
    for (int i = 1; i <= slots; i++) {
      free.add("w" + i);
    }
  }

  /** Workers that HAProxy knows now. */
  int size() {
    return size;
  }

  /** Makes HAProxy's servers those of {@code workers}. */
  void follow(Map<String, URI> workers) throws IOException {
    for (String id : List.copyOf(slots.keySet())) {
      if (!workers.containsKey(id) || !workers.get(id).equals(urls.get(id))) {
        remove(id);
      }
    }
    reuse();
    refuse(workers.keySet());
    for (Map.Entry<String, URI> worker : workers.entrySet()) {
      if (!slots.containsKey(worker.getKey()) && !refused.contains(worker.getKey())) {
        add(worker.getKey(), worker.getValue());
      }
    }
  }

  private void refuse(Set<String> ids) {
    Set<String> strange = new TreeSet<>(ids);
    strange.removeIf(id -> WORD.matcher(id).matches());
    if (!refused.containsAll(strange)) {
      log.warn(
          "HAProxy cannot take workers named {} (expected: no spaces, semicolons or backslashes):"
              + " their requests are balanced over the others",
          strange);
    }
    refused = strange;
  }

  private void add(String id, URI url) throws IOException {
    String slot = free.poll();
    if (slot == null) {
      if (!full) {
        log.warn("no slot is left for {}: its requests are balanced over the others", id);
      }
      full = true;
      return;
    }
    try {
      String address = InetAddress.getByName(url.getHost()).getHostAddress();
      int port = url.getPort() > 0 ? url.getPort() : 80;
      haproxy.tell("set server " + BACKEND + slot + " addr " + address + " port " + port);
      haproxy.tell("set server " + BACKEND + slot + " state ready");
      haproxy.tell("add map " + map + " " + id + " " + slot);
    } catch (IOException e) {
      free.addFirst(slot);
      throw e;
    }
    slots.put(id, slot);
    urls.put(id, url);
    size = slots.size();
  }

  private void remove(String id) throws IOException {
    String slot = slots.get(id);
    haproxy.tell("del map " + map + " " + id);
    haproxy.tell("set server " + BACKEND + slot + " state maint");
    slots.remove(id);
    size = slots.size();
    urls.remove(id);
    leaving.add(slot);
    full = false;
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
