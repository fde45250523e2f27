package io.pointsman.tool.sim.failure;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** The active failures; at most {@value #MAX_ENTRIES}. Safe for use by several threads. */
public final class FailureTable {
  /** Maximum number of entries. */
  public static final int MAX_ENTRIES = 256;

  private static final byte[] NO_BODY = {};

  private final RandomGenerator random;
  private final Consumer<Fault.Refuse> refuser;
  private final Map<Integer, Entry> entries = new LinkedHashMap<>();
  private int nextId = 1;
  private volatile boolean empty = true;

  /**
   * Creates an empty table.
   *
   * @param random selects the requests that are struck
   * @param refuser closes the listener for a while; a refusal takes effect when it is added and is
   *     not stored
   */
  public FailureTable(RandomGenerator random, Consumer<Fault.Refuse> refuser) {
    this.random = random;
    this.refuser = refuser;
  }

  /**
   * Activates a failure.
   *
   * @return its id; 0 for a refusal, which is not stored
   * @throws IllegalStateException if the table is full
   */
  public int add(ScheduledFault failure) {
    if (failure.fault() instanceof Fault.Refuse refuse) {
      refuser.accept(refuse);
      return 0;
    }
    synchronized (this) {
      if (entries.size() >= MAX_ENTRIES) {
        throw new IllegalStateException("failures: full (expected: at most " + MAX_ENTRIES + ")");
      }
      int id = nextId++;
      entries.put(id, new Entry(failure));
      empty = false;
      return id;
    }
  }

  /** Activates a fault for every request. */
  public int always(Fault fault) {
    return add(ScheduledFault.always(fault));
  }

  /** Activates a fault for the next {@code count} requests. */
  public int times(int count, Fault fault) {
    return add(ScheduledFault.times(count, fault));
  }

  /**
   * Deactivates one failure.
   *
   * @return true if it was active
   */
  public synchronized boolean remove(int id) {
    boolean found = entries.remove(id) != null;
    empty = entries.isEmpty();
    return found;
  }

  /**
   * Deactivates all failures.
   *
   * @return the failures with the number of requests struck
   */
  public synchronized List<Active> clear() {
    List<Active> cleared = active();
    entries.clear();
    empty = true;
    return cleared;
  }

  /** The active failures, in the order of addition. */
  public synchronized List<Active> active() {
    List<Active> list = new ArrayList<>();
    entries.forEach((id, entry) -> list.add(new Active(id, entry.failure, entry.struck)));
    return list;
  }

  /** Draws the faults that strike a request without a body. */
  public List<Fault> draw(String path, boolean works) {
    return draw(path, works, NO_BODY);
  }

  /**
   * Draws the faults that strike a request, at most one of each kind, and counts them.
   *
   * @param works true if failures without a path apply
   */
  public List<Fault> draw(String path, boolean works, byte[] body) {
    if (empty) {
      return List.of();
    }
    synchronized (this) {
      List<Fault> drawn = new ArrayList<>();
      for (Entry entry : entries.values()) {
        if (concerns(entry.failure, path, works)
            && isNew(drawn, entry.failure)
            && inBody(entry.failure.fault(), body)
            && strikes(entry)) {
          drawn.add(entry.failure.fault());
        }
      }
      return drawn;
    }
  }

  /**
   * Returns true if a flapping-health failure makes the health endpoints answer 503 now.
   *
   * @param nowMillis wall or engine time in milliseconds
   */
  public boolean healthIsDown(long nowMillis) {
    if (empty) {
      return false;
    }
    synchronized (this) {
      for (Entry entry : entries.values()) {
        if (entry.failure.fault() instanceof Fault.FlappingHealth flap
            && (nowMillis - entry.since(nowMillis)) % (flap.upMillis() + flap.downMillis())
                >= flap.upMillis()) {
          entry.struck++;
          return true;
        }
      }
      return false;
    }
  }

  private boolean strikes(Entry entry) {
    ScheduledFault failure = entry.failure;
    boolean left = failure.count() == 0 || entry.struck < failure.count();
    boolean hit =
        left && (failure.probability() >= 1 || random.nextDouble() < failure.probability());
    if (hit) {
      entry.struck++;
    }
    return hit;
  }

  private static boolean concerns(ScheduledFault failure, String path, boolean works) {
    boolean named = failure.path().isEmpty() ? works : path.startsWith(failure.path());
    return named && !(failure.fault() instanceof Fault.FlappingHealth);
  }

  private static boolean inBody(Fault fault, byte[] body) {
    return !(fault instanceof Fault.Poison poison)
        || new String(body, StandardCharsets.UTF_8).contains(poison.text());
  }

  private static boolean isNew(List<Fault> drawn, ScheduledFault failure) {
    return drawn.stream().noneMatch(fault -> fault.getClass() == failure.fault().getClass());
  }

  /**
   * An active failure.
   *
   * @param id identifies it for removal
   * @param struck requests struck so far
   */
  public record Active(int id, ScheduledFault failure, int struck) {}

  private static final class Entry {
    final ScheduledFault failure;
    int struck;
    private long since = -1;

    Entry(ScheduledFault failure) {
      this.failure = failure;
    }

    /** Start of its periods: the time of the first query. */
    long since(long now) {
      if (since < 0) {
        since = now;
      }
      return since;
    }
  }
}
