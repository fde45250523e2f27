package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * The blocks of one source as a forest, indexed by the engine's ids. Each node has its predecessor,
 * its tiers, and the hashes of the routing-key blocks that end in it. Engine blocks may be shorter
 * or longer than routing-key blocks. Tokens left over at a block's end are carried to the next
 * block.
 *
 * <p>A block is <em>rooted</em> if it and all its predecessors are on the device. A block that left
 * all tiers stays while others depend on it, so they are found again when it returns.
 *
 * <p>Not thread-safe. It grows as needed, within a byte budget common to all sources.
 */
final class KvNodes {
  static final int NONE = -1;

  /** Larger blocks are not matched. */
  private static final int LARGEST_BLOCK = 4096;

  private static final int FIRST_NODES = 64;
  private static final int MOST_SIBLINGS = 4096;
  private static final int NODE_BYTES = 39;
  private static final int TIERS = 0x0F;
  private static final int DEVICE = 1 << KvTier.DEVICE.index();
  private static final int ROOTED = 0x10;
  private static final int MATCHES = 0x20;
  private static final int MOST_COPIES = 255;

  private final AtomicLong bytesLeft;
  private long bytes;
  private long[] ids = {};
  private int[] sizes = {};
  private int[] parents = {};
  private int[] firstChild = {};
  private int[] next = {};
  private int[] previous = {};
  private byte[] state = {};

  /** Copies on the device beyond the first. */
  private byte[] copies = {};

  /** Tokens after the last complete routing-key block. */
  private byte[] fill = {};

  /** Unmixed hash chains at the ends of complete blocks; if none ends here, the previous one. */
  private long[] chains = {};

  /** Partial hash of the incomplete block; empty if block ends always coincide. */
  private long[] folds = {};

  /** Nodes by id with linear probing; 0 means empty, otherwise the node plus one. */
  private int[] table = {};

  private int free = NONE;

  /**
   * First of the blocks at the start of a prompt; they form a sibling list like the successors of
   * one block.
   */
  private int firstRoot = NONE;

  private int blockSize;
  private int stride = 1;

  KvNodes(AtomicLong bytesLeft) {
    this.bytesLeft = bytesLeft;
  }

  /** Releases all blocks and memory. */
  void clear() {
    bytesLeft.addAndGet(bytes);
    bytes = 0;
    ids = new long[0];
    sizes = new int[0];
    parents = new int[0];
    firstChild = new int[0];
    next = new int[0];
    previous = new int[0];
    state = new byte[0];
    copies = new byte[0];
    fill = new byte[0];
    chains = new long[0];
    folds = new long[0];
    table = new int[0];
    free = NONE;
    firstRoot = NONE;
    blockSize = 0;
    stride = 1;
  }

  /**
   * Returns true if blocks of this size can be matched. The first block determines the size for a
   * source.
   */
  boolean fits(int size) {
    if (blockSize == 0 && size > 0 && size <= LARGEST_BLOCK) {
      int wanted = (size + TokenIds.PER_BLOCK - 1) / TokenIds.PER_BLOCK;
      boolean parts = size % TokenIds.PER_BLOCK != 0;
      if (!reserve((long) ids.length * Long.BYTES * (wanted + (parts ? 1 : 0)))) {
        return false;
      }
      blockSize = size;
      stride = wanted;
      chains = new long[ids.length * stride];
      folds = new long[parts ? ids.length : 0];
    }
    return size == blockSize;
  }

  /** Tokens of a matchable block; 0 before the first. */
  int blockSize() {
    return blockSize;
  }

  private boolean reserve(long more) {
    // Never takes more than there is, because another source would then be refused for this one.
    if (bytesLeft.getAndUpdate(left -> left >= more ? left - more : left) < more) {
      return false;
    }
    bytes += more;
    return true;
  }

  int find(long id) {
    if (table.length == 0) {
      return NONE;
    }
    for (int at = home(id); table[at] != 0; at = at + 1 & table.length - 1) {
      if (ids[table[at] - 1] == id) {
        return table[at] - 1;
      }
    }
    return NONE;
  }

  private int home(long id) {
    return (int) (PrefixBlocks.mix(id) >>> 20) & (table.length - 1);
  }

  /** Adds a block on no tier with unknown content. Returns {@link #NONE} if there is no memory. */
  int add(long id, int size) {
    if (free == NONE && !grow()) {
      return NONE;
    }
    int node = free;
    free = next[node];
    ids[node] = id;
    sizes[node] = size;
    parents[node] = NONE;
    firstChild[node] = NONE;
    next[node] = NONE;
    previous[node] = NONE;
    state[node] = 0;
    copies[node] = 0;
    enter(node);
    return node;
  }

  private void enter(int node) {
    int at = home(ids[node]);
    while (table[at] != 0) {
      at = at + 1 & table.length - 1;
    }
    table[at] = node + 1;
  }

  private boolean grow() {
    int size = ids.length;
    if (size > 1 << 27) {
      return false;
    }
    int bigger = Math.max(FIRST_NODES, size * 2);
    if (!reserve((long) (bigger - size) * nodeBytes())) {
      return false;
    }
    resize(bigger);
    table = new int[bigger * 2];
    for (int node = 0; node < size; node++) {
      enter(node);
    }
    addFree(size, bigger);
    return true;
  }

  private boolean hasParts() {
    return blockSize % TokenIds.PER_BLOCK != 0;
  }

  private int nodeBytes() {
    int chainBytes = blockSize == 0 ? 0 : Long.BYTES * (stride + (hasParts() ? 1 : 0));
    return NODE_BYTES + chainBytes;
  }

  private void resize(int length) {
    ids = Arrays.copyOf(ids, length);
    sizes = Arrays.copyOf(sizes, length);
    parents = Arrays.copyOf(parents, length);
    firstChild = Arrays.copyOf(firstChild, length);
    next = Arrays.copyOf(next, length);
    previous = Arrays.copyOf(previous, length);
    state = Arrays.copyOf(state, length);
    copies = Arrays.copyOf(copies, length);
    fill = Arrays.copyOf(fill, length);
    chains = blockSize == 0 ? chains : Arrays.copyOf(chains, length * stride);
    folds = hasParts() ? Arrays.copyOf(folds, length) : folds;
  }

  private void addFree(int from, int to) {
    for (int node = to - 1; node >= from; node--) {
      next[node] = free;
      free = node;
    }
  }

  /** Bytes of the budget that it has taken. */
  long bytes() {
    return bytes;
  }

  /** Calls {@code action} with each block. */
  void forEach(IntConsumer action) {
    for (int entry : table) {
      if (entry != 0) {
        action.accept(entry - 1);
      }
    }
  }

  /**
   * Halves the memory. Removes blocks without successors until the others fit, so prefixes stay
   * longer than their continuations. Numbers of nodes change.
   *
   * @param removed is called with each block before its removal
   * @return false, without a change, if the memory is as small as possible
   */
  boolean halve(IntConsumer removed) {
    int smaller = ids.length / 2;
    if (smaller < FIRST_NODES) {
      return false;
    }
    int[] leaves = new int[ids.length];
    int used = 0;
    int found = 0;
    for (int node = 0; node < ids.length; node++) {
      if (inUse(node)) {
        used++;
        leaves[found] = node;
        found += firstChild[node] == NONE ? 1 : 0;
      }
    }
    for (int i = 0; used > smaller; i++) {
      removed.accept(leaves[i]);
      used -= cut(leaves[i]);
      int before = parents[leaves[i]];
      while (before != NONE && !inUse(before)) {
        before = parents[before];
      }
      if (before != NONE && firstChild[before] == NONE) {
        leaves[found++] = before;
      }
    }
    move(smaller);
    return true;
  }

  private boolean inUse(int node) {
    return find(ids[node]) == node;
  }

  /** Removes a block from all tiers. Returns the number of blocks that are removed by that. */
  private int cut(int node) {
    state[node] &= (byte) ~(TIERS | ROOTED);
    return prune(node);
  }

  /** Moves the blocks into smaller memory, which has room for them. */
  private void move(int smaller) {
    int size = ids.length;
    int[] places = new int[size];
    int count = 0;
    for (int node = 0; node < size; node++) {
      places[node] = inUse(node) ? count++ : NONE;
    }
    for (int node = 0; node < size; node++) {
      if (places[node] != NONE) {
        moveDown(node, places);
      }
    }
    firstRoot = place(firstRoot, places);
    resize(smaller);
    table = new int[smaller * 2];
    for (int node = 0; node < count; node++) {
      enter(node);
    }
    free = NONE;
    addFree(count, smaller);
    long given = (long) (size - smaller) * nodeBytes();
    bytes -= given;
    bytesLeft.addAndGet(given);
  }

  /** Moves a block to its place, which is not behind it. */
  private void moveDown(int node, int... places) {
    int to = places[node];
    ids[to] = ids[node];
    sizes[to] = sizes[node];
    parents[to] = place(parents[node], places);
    firstChild[to] = place(firstChild[node], places);
    next[to] = place(next[node], places);
    previous[to] = place(previous[node], places);
    state[to] = state[node];
    copies[to] = copies[node];
    fill[to] = fill[node];
    if (chains.length > 0) {
      System.arraycopy(chains, node * stride, chains, to * stride, stride);
    }
    if (folds.length > 0) {
      folds[to] = folds[node];
    }
  }

  private static int place(int node, int... places) {
    return node == NONE ? NONE : places[node];
  }

  int size(int node) {
    return sizes[node];
  }

  int tiers(int node) {
    return state[node] & TIERS;
  }

  boolean on(int node, int tier) {
    return (state[node] & 1 << tier) != 0;
  }

  void put(int node, int tier) {
    state[node] |= (byte) (1 << tier);
  }

  void take(int node, int tier) {
    state[node] &= (byte) ~(1 << tier);
  }

  /** Counts one more copy on the device; false if the counter is at its maximum. */
  boolean copied(int node) {
    boolean counted = (copies[node] & MOST_COPIES) < MOST_COPIES;
    if (counted) {
      copies[node]++;
    }
    return counted;
  }

  /** Removes one copy on the device; false if only one is left, which stays. */
  boolean uncopied(int node) {
    boolean more = copies[node] != 0;
    if (more) {
      copies[node]--;
    }
    return more;
  }

  /** The preceding block; {@link #NONE} for the first block, and if unknown. */
  int parent(int node) {
    return parents[node];
  }

  /** Returns true if the block's content is known, so prompts can match it. */
  boolean matches(int node) {
    return (state[node] & MATCHES) != 0;
  }

  boolean rooted(int node) {
    return (state[node] & ROOTED) != 0;
  }

  /** Returns true if the block meets all conditions for being rooted, but is not marked yet. */
  boolean rootable(int node) {
    return (state[node] & (DEVICE | MATCHES | ROOTED)) == (DEVICE | MATCHES)
        && (parents[node] == NONE || rooted(parents[node]));
  }

  /**
   * Records the content of a block.
   *
   * @param parent the preceding block, which must satisfy {@link #matches}; NONE at the start of a
   *     prompt
   * @param start start value of the prompt's hash chain
   * @param from index of its first token
   */
  void chain(int node, int parent, long start, int[] tokens, int from) {
    long chain = parent == NONE ? start : lastChain(parent);
    int filled = parent == NONE ? 0 : fill[parent];
    long fold = filled == 0 ? 0 : folds[parent];
    int at = node * stride;
    chains[at] = chain;
    for (int i = 0; i < blockSize; i++) {
      fold = TokenIds.fold(fold, tokens[from + i]);
      if (++filled == TokenIds.PER_BLOCK) {
        chain = PrefixBlocks.link(chain, TokenIds.piece(fold));
        chains[at++] = chain;
        filled = 0;
        fold = 0;
      }
    }
    fill[node] = (byte) filled;
    if (folds.length > 0) {
      folds[node] = fold;
    }
    state[node] |= MATCHES;
    parents[node] = parent;
    hang(node, parent);
  }

  private void hang(int node, int parent) {
    int sibling = firstBehind(parent);
    next[node] = sibling;
    if (sibling != NONE) {
      previous[sibling] = node;
    }
    firstBehind(parent, node);
  }

  private int firstBehind(int parent) {
    return parent == NONE ? firstRoot : firstChild[parent];
  }

  private void firstBehind(int parent, int node) {
    if (parent == NONE) {
      firstRoot = node;
    } else {
      firstChild[parent] = node;
    }
  }

  /**
   * Returns true if a sibling on {@code tier} has the same {@code i}th hash. This happens if the
   * blocks differ only after the end of a routing-key block. At most {@link #MOST_SIBLINGS}
   * siblings are checked. If the match is missed, the common block counts as removed.
   */
  boolean shares(int node, int i, int tier) {
    if (fill[node] == 0 && i == keys(node) - 1) {
      return false;
    }
    int wanted = MATCHES | (tier == KvTier.DEVICE.index() ? ROOTED : 1 << tier);
    long chain = chains[node * stride + i];
    int sibling = firstBehind(parents[node]);
    for (int looked = 0; sibling != NONE && looked < MOST_SIBLINGS; looked++) {
      if (sibling != node
          && (state[sibling] & wanted) == wanted
          && i < keys(sibling)
          && chains[sibling * stride + i] == chain) {
        return true;
      }
      sibling = next[sibling];
    }
    return false;
  }

  private long lastChain(int node) {
    return chains[node * stride + Math.max(0, keys(node) - 1)];
  }

  /** Number of routing-key blocks that end in a block that {@link #matches}. */
  int keys(int node) {
    int before = Math.floorMod(fill[node] - blockSize, TokenIds.PER_BLOCK);
    return (before + blockSize) / TokenIds.PER_BLOCK;
  }

  /** The routing key's hash at the {@code i}th of these ends. */
  long key(int node, int i) {
    return PrefixBlocks.mix(chains[node * stride + i]);
  }

  /** Marks a rootable block, and all successors that become rootable by that. */
  void root(int top, IntConsumer marked) {
    int node = top;
    while (true) {
      boolean news = rootable(node);
      if (news) {
        state[node] |= ROOTED;
        marked.accept(node);
      }
      node = following(node, top, news);
      if (node == NONE) {
        return;
      }
    }
  }

  /** Removes the mark from a block and all its successors. */
  void unroot(int top, IntConsumer unmarked) {
    int node = top;
    while (true) {
      boolean was = rooted(node);
      if (was) {
        state[node] &= (byte) ~ROOTED;
        unmarked.accept(node);
      }
      node = following(node, top, was);
      if (node == NONE) {
        return;
      }
    }
  }

  /** Returns the next node of a walk over all nodes below {@code top}; NONE at its end. */
  private int following(int node, int top, boolean deeper) {
    if (deeper && firstChild[node] != NONE) {
      return firstChild[node];
    }
    int at = node;
    while (at != top && next[at] == NONE) {
      at = parents[at];
    }
    return at == top ? NONE : next[at];
  }

  /**
   * Removes a block without tiers and successors, then its predecessors in the same state.
   *
   * @return the number of removed blocks
   */
  int prune(int node) {
    int removed = 0;
    int at = node;
    while (at != NONE && (state[at] & TIERS) == 0 && firstChild[at] == NONE) {
      int parent = parents[at];
      if (matches(at)) {
        unhang(at, parent);
      }
      remove(ids[at]);
      state[at] = 0;
      next[at] = free;
      free = at;
      at = parent;
      removed++;
    }
    return removed;
  }

  private void unhang(int node, int parent) {
    int before = previous[node];
    int after = next[node];
    if (before == NONE) {
      firstBehind(parent, after);
    } else {
      next[before] = after;
    }
    if (after != NONE) {
      previous[after] = before;
    }
  }

  /** Closes the gap after a removal, so probing needs no tombstones. */
  private void remove(long id) {
    int mask = table.length - 1;
    int gap = home(id);
    while (ids[table[gap] - 1] != id) {
      gap = gap + 1 & mask;
    }
    for (int at = gap + 1 & mask; table[at] != 0; at = at + 1 & mask) {
      int wanted = home(ids[table[at] - 1]);
      if ((at - wanted & mask) >= (at - gap & mask)) {
        table[gap] = table[at];
        gap = at;
      }
    }
    table[gap] = 0;
  }
}
