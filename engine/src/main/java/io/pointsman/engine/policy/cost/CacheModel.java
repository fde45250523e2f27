package io.pointsman.engine.policy.cost;

import io.pointsman.engine.prefix.Milestones;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;

/**
 * What one worker's cache is thought to hold: prompts placed on it, as the indexed lengths of their
 * prefixes, the least lately used evicted when they exceed the worker's KV memory. A prompt is held
 * from its placement on, because whoever comes after it will find it; while a request uses it, it
 * is not evicted. Of one prompt the end is evicted first, as engines do.
 *
 * <p>Not safe for several threads: guarded by its worker's lock. It grows as needed, within a
 * number of bytes that it shares with the other workers; when they are used up it forgets early.
 */
final class CacheModel {
  /** Of one node, its share of the table included. */
  static final int NODE_BYTES = 32 + 1;

  private static final int NONE = -1;
  private static final int FIRST_NODES = 64;

  private final AtomicLong bytesLeft;
  private final LongConsumer evicted;
  private final LongConsumer withdrawn;
  private long[] hashes = new long[0];
  private int[] tokens = new int[0];
  private int[] users = new int[0];

  /** Neighbours among the idle, from the oldest to the newest; of free nodes the next free one. */
  private int[] next = new int[0];

  private int[] previous = new int[0];
  private boolean[] computed = new boolean[0];

  /** Nodes by hash, with linear probing; 0 is empty, else the node plus one. */
  private int[] table = new int[0];

  private int free = NONE;
  private int oldest = NONE;
  private int newest = NONE;
  private long idleTokens;
  private long pinnedTokens;

  /** Whether anything had to make room since it was empty. */
  private boolean full;

  /**
   * @param bytesLeft what all workers may still take
   * @param evicted hears of each block that had to make room
   * @param withdrawn hears of each block that was expected and not computed
   */
  CacheModel(AtomicLong bytesLeft, LongConsumer evicted, LongConsumer withdrawn) {
    this.bytesLeft = bytesLeft;
    this.evicted = evicted;
    this.withdrawn = withdrawn;
  }

  /** Distinct prompt tokens of the requests in flight. */
  long pinnedTokens() {
    return pinnedTokens;
  }

  /** Tokens held, in use or not. */
  long heldTokens() {
    return pinnedTokens + idleTokens;
  }

  /**
   * Whether the engine's memory has been too small for all that was sent to it since it was empty.
   */
  boolean everFull() {
    return full;
  }

  /** Blocks of the longest prefix that is held. */
  int match(PrefixBlocks prefix) {
    int ends = ends(prefix);
    int held = 0;
    for (int i = 0; i < ends; i++) {
      int end = end(prefix, i, ends);
      if (find(prefix.hashes()[end - 1]) == NONE) {
        return held;
      }
      held = end;
    }
    return held;
  }

  /** Blocks up to which a prompt was held, behind what is held at present, until it was evicted. */
  static int knownBeyond(PrefixBlocks prefix, int held, GhostList ghosts) {
    int ends = ends(prefix);
    int known = held;
    for (int i = held == 0 ? 0 : Milestones.upTo(held); i < ends; i++) {
      int end = end(prefix, i, ends);
      if (!ghosts.contains(prefix.hashes()[end - 1])) {
        return known;
      }
      known = end;
    }
    return known;
  }

  /**
   * Takes a prompt in for a request in flight.
   *
   * @param tokensPerBlock length of a block, in tokens
   */
  void acquire(PrefixBlocks prefix, double tokensPerBlock) {
    int ends = ends(prefix);
    int before = 0;
    for (int i = 0; i < ends; i++) {
      int end = end(prefix, i, ends);
      long hash = prefix.hashes()[end - 1];
      int node = find(hash);
      if (node == NONE) {
        node = add(hash, (int) Math.round((end - before) * tokensPerBlock));
      }
      if (node != NONE && users[node]++ == 0) {
        pin(node);
      }
      before = end;
    }
  }

  private void pin(int node) {
    if (linked(node)) {
      unlink(node);
      idleTokens -= tokens[node];
    }
    pinnedTokens += tokens[node];
  }

  /**
   * A request that was taken in has ended.
   *
   * @param wasComputed whether the worker has computed its prompt; if it has not, nobody will find
   *     what only this request would have brought
   */
  void release(PrefixBlocks prefix, boolean wasComputed) {
    int ends = ends(prefix);
    for (int i = ends - 1; i >= 0; i--) {
      int node = find(prefix.hashes()[end(prefix, i, ends) - 1]);
      if (node != NONE && users[node] > 0) {
        computed[node] |= wasComputed;
        if (--users[node] == 0) {
          unpin(node);
        }
      }
    }
  }

  private void unpin(int node) {
    pinnedTokens -= tokens[node];
    if (computed[node]) {
      append(node);
      idleTokens += tokens[node];
    } else {
      withdrawn.accept(hashes[node]);
      forget(node);
    }
  }

  /** Evicts what is not in use until no more than {@code tokens} are held. */
  void shrinkTo(double most) {
    while (oldest != NONE && pinnedTokens + idleTokens > most) {
      full = true;
      evictOldest();
    }
  }

  private void evictOldest() {
    int node = oldest;
    unlink(node);
    idleTokens -= tokens[node];
    evicted.accept(hashes[node]);
    forget(node);
  }

  /**
   * Forgets everything, as an engine does that starts anew.
   *
   * @param forgotten hears of each block
   */
  void clear(LongConsumer forgotten) {
    for (int node = 0; node < hashes.length; node++) {
      if (tokens[node] >= 0) {
        forgotten.accept(hashes[node]);
      }
    }
    close();
  }

  /** Gives its memory back. */
  void close() {
    bytesLeft.addAndGet((long) hashes.length * NODE_BYTES);
    hashes = new long[0];
    tokens = new int[0];
    users = new int[0];
    next = new int[0];
    previous = new int[0];
    computed = new boolean[0];
    table = new int[0];
    free = NONE;
    oldest = NONE;
    newest = NONE;
    idleTokens = 0;
    pinnedTokens = 0;
    full = false;
  }

  /** How many lengths of a prompt are kept: the indexed ones, and the whole. */
  static int ends(PrefixBlocks prefix) {
    return prefix.count() == 0 ? 0 : Milestones.upTo(prefix.count() - 1) + 1;
  }

  static int end(PrefixBlocks prefix, int i, int ends) {
    return i == ends - 1 ? prefix.count() : Milestones.blocks(i);
  }

  private int find(long hash) {
    if (table.length == 0) {
      return NONE;
    }
    for (int at = home(hash); table[at] != 0; at = at + 1 & table.length - 1) {
      if (hashes[table[at] - 1] == hash) {
        return table[at] - 1;
      }
    }
    return NONE;
  }

  private int home(long hash) {
    return (int) (hash >>> 20) & (table.length - 1);
  }

  /** A node for a block; {@link #NONE} if there is no room for it. */
  private int add(long hash, int size) {
    if (free == NONE && !grow()) {
      if (oldest == NONE) {
        return NONE;
      }
      evictOldest();
    }
    int node = free;
    free = next[node];
    hashes[node] = hash;
    tokens[node] = size;
    users[node] = 0;
    computed[node] = false;
    next[node] = NONE;
    previous[node] = NONE;
    enter(node);
    return node;
  }

  private void enter(int node) {
    int at = home(hashes[node]);
    while (table[at] != 0) {
      at = at + 1 & table.length - 1;
    }
    table[at] = node + 1;
  }

  private boolean grow() {
    int size = hashes.length;
    int bigger = Math.max(FIRST_NODES, size * 2);
    long bytes = (long) (bigger - size) * NODE_BYTES;
    if (bytesLeft.addAndGet(-bytes) < 0) {
      bytesLeft.addAndGet(bytes);
      return false;
    }
    hashes = Arrays.copyOf(hashes, bigger);
    tokens = Arrays.copyOf(tokens, bigger);
    users = Arrays.copyOf(users, bigger);
    next = Arrays.copyOf(next, bigger);
    previous = Arrays.copyOf(previous, bigger);
    computed = Arrays.copyOf(computed, bigger);
    table = new int[bigger * 2];
    for (int node = 0; node < size; node++) {
      enter(node);
    }
    for (int node = bigger - 1; node >= size; node--) {
      tokens[node] = NONE;
      next[node] = free;
      free = node;
    }
    return true;
  }

  private void forget(int node) {
    remove(hashes[node]);
    tokens[node] = NONE;
    next[node] = free;
    free = node;
  }

  /** Closes the gap behind what is taken out, so that probing needs no tombstones. */
  private void remove(long hash) {
    int mask = table.length - 1;
    int gap = home(hash);
    while (hashes[table[gap] - 1] != hash) {
      gap = gap + 1 & mask;
    }
    for (int at = gap + 1 & mask; table[at] != 0; at = at + 1 & mask) {
      int wanted = home(hashes[table[at] - 1]);
      if ((at - wanted & mask) >= (at - gap & mask)) {
        table[gap] = table[at];
        gap = at;
      }
    }
    table[gap] = 0;
  }

  private boolean linked(int node) {
    return previous[node] != NONE || oldest == node;
  }

  private void append(int node) {
    previous[node] = newest;
    next[node] = NONE;
    if (newest == NONE) {
      oldest = node;
    } else {
      next[newest] = node;
    }
    newest = node;
  }

  private void unlink(int node) {
    int before = previous[node];
    int after = next[node];
    if (before == NONE) {
      oldest = after;
    } else {
      next[before] = after;
    }
    if (after == NONE) {
      newest = before;
    } else {
      previous[after] = before;
    }
    previous[node] = NONE;
    next[node] = NONE;
  }
}
