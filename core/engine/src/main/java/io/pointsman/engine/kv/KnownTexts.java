package io.pointsman.engine.kv;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The token ids of rendered prompts, as hashes of their full blocks. The lookup key is the hash of
 * a text routing key at the end of a message. The next turn of a conversation thus finds the ids of
 * the part common with the previous turn.
 *
 * <p>A common beginning of different prompts, for example a system prompt, is never rendered alone.
 * Its ids are the common prefix of two prompts that continue differently in the next text block.
 * This may include a few equal words after the beginning. Each further prompt shortens an entry to
 * the ids it has in common, because templates render the end of a prompt differently when it
 * continues.
 *
 * <p>Lookups take no lock. The memory is bounded; entries unused for long are evicted. An entry is
 * valid for one hour, because templates can change.
 */
public final class KnownTexts implements TokenKeys {
  private static final int WAYS = 4;
  private static final long BYTES_PER_PLACE = 256;
  private static final int LEAST_PLACES = 256;
  private static final int MOST_PLACES = 1 << 20;

  /** Bytes of an entry without its blocks, including its part of the table. */
  private static final int ENTRY_BYTES = 96;

  /** Text blocks checked from the end of a prompt backwards: 256 KiB. */
  private static final int MOST_LOOKS = 4096;

  private static final long MOST_AGE_NANOS = TimeUnit.HOURS.toNanos(1);
  private static final long SALT = 0;
  private static final long BASE = PrefixBlocks.mix(SALT);

  /** The value of {@link Entry#shared} for a beginning known from one prompt only. */
  private static final int UNKNOWN = -1;

  /** The token data of one beginning of prompts. */
  private static final class Entry {
    private final long text;

    /** Chained hashes of full blocks; those of one prompt while {@link #shared} is unknown. */
    private final long[] blocks;

    /**
     * Number of the blocks that every prompt with this beginning has; {@link #UNKNOWN} if unknown.
     */
    private final int shared;

    /** Token count of the prompt that ends here; 0 if no known prompt ends here. */
    private final int tokens;

    /** Hash of the text's next block in the one known prompt. */
    private final long next;

    private final long learnedAt;

    /** Races are harmless: a used entry may be evicted slightly earlier. */
    private boolean used;

    Entry(long text, long[] blocks, int shared, int tokens, long next, long learnedAt) {
      this.text = text;
      this.blocks = blocks;
      this.shared = shared;
      this.tokens = tokens;
      this.next = next;
      this.learnedAt = learnedAt;
    }

    long bytes() {
      return ENTRY_BYTES + (long) blocks.length * Long.BYTES;
    }

    boolean stale(long now) {
      return now - learnedAt > MOST_AGE_NANOS;
    }
  }

  /**
   * The result of a lookup.
   *
   * @param blocks number of text blocks that the entry covers
   */
  private record Found(Entry entry, int blocks) {
    /** Returns true if the entry covers the whole prompt. */
    boolean whole(PrefixBlocks text) {
      return blocks == text.count() && entry.tokens > 0;
    }

    PrefixBlocks key(PrefixBlocks text) {
      int length = entry.shared * TokenIds.PER_BLOCK;
      int before = Math.max(length, entry.tokens);
      double rest = whole(text) ? 0 : (1 - text.ratio(blocks)) * text.tokens();
      int tokens = Math.clamp(before + Math.round(rest), 1, Integer.MAX_VALUE >> 1);
      return new PrefixBlocks(
          entry.blocks, entry.shared, length, TokenIds.PER_BLOCK, tokens, false, BASE, 0);
    }
  }

  private final long maxBytes;
  private final Ticker ticker;
  private final int sets;
  private final AtomicLongArray texts;
  private final AtomicReferenceArray<@Nullable Entry> entries;
  private final LongAdder whole = new LongAdder();
  private final LongAdder part = new LongAdder();
  private final LongAdder none = new LongAdder();
  private final AtomicLong usedBytes = new AtomicLong();

  /** Next table index for eviction; guarded by this. */
  private int hand;

  /**
   * @param maxBytes maximum memory in bytes; at least 1 MiB
   */
  public KnownTexts(long maxBytes, Ticker ticker) {
    if (maxBytes < 1 << 20) {
      throw new IllegalArgumentException("maxBytes: " + maxBytes + " (expected: >= 1048576)");
    }
    this.maxBytes = maxBytes;
    this.ticker = ticker;
    long wanted = Math.clamp(maxBytes / BYTES_PER_PLACE, LEAST_PLACES, MOST_PLACES);
    int places = Long.bitCount(wanted) == 1 ? (int) wanted : (int) Long.highestOneBit(wanted);
    sets = places / WAYS;
    texts = new AtomicLongArray(places);
    entries = new AtomicReferenceArray<>(places);
  }

  @Override
  public @Nullable PrefixBlocks of(PrefixBlocks text) {
    Found found = look(text);
    if (found == null) {
      none.increment();
      return null;
    }
    found.entry().used = true;
    (found.whole(text) ? whole : part).increment();
    return found.key(text);
  }

  @Override
  public TokenKeys unseen() {
    return text -> {
      Found found = look(text);
      return found == null ? null : found.key(text);
    };
  }

  /** Returns the longest beginning of a text with known ids; null if there is none. */
  private @Nullable Found look(PrefixBlocks text) {
    if (usedBytes.get() == 0) {
      return null;
    }
    long[] hashes = text.hashes();
    int least = Math.max(0, text.count() - MOST_LOOKS);
    for (int i = text.count() - 1; i >= least; i--) {
      Entry entry = find(hashes[i]);
      if (entry != null && entry.shared > 0 && !entry.stale(ticker.nanos())) {
        return new Found(entry, i + 1);
      }
    }
    return null;
  }

  private @Nullable Entry find(long text) {
    int first = firstPlace(text);
    for (int place = first; place < first + WAYS; place++) {
      if (texts.getOpaque(place) == text) {
        Entry entry = entries.getAcquire(place);
        if (entry != null && entry.text == text) {
          return entry;
        }
      }
    }
    return null;
  }

  private int firstPlace(long text) {
    return (int) (text >>> 40) % sets * WAYS;
  }

  /** Returns true if all ids of exactly this prompt are known. */
  public boolean knows(PrefixBlocks text) {
    Entry entry = usedBytes.get() == 0 || text.count() == 0 ? null : find(text.whole());
    if (entry == null || entry.tokens == 0 || entry.stale(ticker.nanos())) {
      return false;
    }
    entry.used = true;
    return true;
  }

  /**
   * Records the token ids of a rendered conversation.
   *
   * @param text the prompt's routing key
   * @param beginning hash of the routing key at the end of a beginning that other prompts may have
   *     too; 0 for none
   * @param ids all ids of the prompt
   */
  public synchronized void learnMessages(PrefixBlocks text, long beginning, int[] ids) {
    long now = ticker.nanos();
    long[] blocks = blocks(ids, ids.length);
    correct(text, blocks, now);
    if (beginning != 0 && !fresh(beginning, now)) {
      for (int i = 0; i < text.count() - 1; i++) {
        if (text.hashes()[i] == beginning) {
          put(new Entry(beginning, blocks, UNKNOWN, 0, text.hashes()[i + 1], now));
        }
      }
    }
    put(new Entry(text.whole(), blocks, blocks.length, ids.length, 0, now));
  }

  /**
   * Records the token ids of a rendered text. A longer text that begins with it has the same full
   * blocks of bytes. Ids that may cover bytes after these blocks are excluded for them.
   *
   * @param text the prompt's routing key
   * @param ids all ids of the prompt
   */
  public synchronized void learnText(PrefixBlocks text, int[] ids) {
    long now = ticker.nanos();
    long[] blocks = blocks(ids, ids.length);
    correct(text, blocks, now);
    int full = text.count() - 1;
    if (full > 0) {
      int leftOver = text.length() - full * text.blockLength();
      // Each id covers at least one byte, and one id may cross the border.
      long[] sure = blocks(ids, Math.max(0, ids.length - leftOver - 1));
      long at = text.hashes()[full - 1];
      if (sure.length > 0 && !fresh(at, now)) {
        put(new Entry(at, sure, sure.length, 0, 0, now));
      }
    }
    put(new Entry(text.whole(), blocks, blocks.length, ids.length, 0, now));
  }

  private static long[] blocks(int[] ids, int known) {
    int full = known / TokenIds.PER_BLOCK * TokenIds.PER_BLOCK;
    return TokenIds.key(SALT, ids, full, ids.length).hashes();
  }

  private boolean fresh(long text, long now) {
    Entry entry = find(text);
    return entry != null && !entry.stale(now);
  }

  /** Shortens the entries for the prompt's beginnings to the ids common with this prompt. */
  private void correct(PrefixBlocks text, long[] blocks, long now) {
    int least = Math.max(0, text.count() - 1 - MOST_LOOKS);
    for (int i = text.count() - 2; i >= least; i--) {
      Entry entry = find(text.hashes()[i]);
      if (entry != null && !entry.stale(now)) {
        correct(entry, blocks, text.hashes()[i + 1]);
      }
    }
  }

  private void correct(Entry entry, long[] blocks, long next) {
    int common = common(entry.blocks, blocks);
    boolean known = entry.shared != UNKNOWN;
    if (known ? common < entry.shared : next != entry.next) {
      long[] kept = Arrays.copyOf(entry.blocks, known ? Math.min(common, entry.shared) : common);
      put(new Entry(entry.text, kept, kept.length, entry.tokens, 0, entry.learnedAt));
    }
  }

  private static int common(long[] a, long[] b) {
    int differs = Arrays.mismatch(a, b);
    return differs < 0 ? a.length : differs;
  }

  private void put(Entry entry) {
    int first = firstPlace(entry.text);
    int chosen = -1;
    for (int place = first; place < first + WAYS && chosen < 0; place++) {
      Entry there = entries.get(place);
      chosen = there != null && there.text == entry.text ? place : -1;
    }
    for (int place = first; place < first + WAYS && chosen < 0; place++) {
      chosen = entries.get(place) == null ? place : -1;
    }
    if (chosen < 0) {
      chosen = oldest(first);
    }
    Entry before = entries.get(chosen);
    if (before != null && before.text == entry.text) {
      // Replaced at once: a lookup must not miss a known text.
      usedBytes.addAndGet(entry.bytes() - before.bytes());
    } else {
      clear(chosen);
      usedBytes.addAndGet(entry.bytes());
    }
    entries.setRelease(chosen, entry);
    texts.setRelease(chosen, entry.text);
    makeRoom(chosen);
  }

  /**
   * Selects the entry to replace in a full set. An entry used since the last replacement is kept
   * once.
   */
  private int oldest(int first) {
    int oldest = first;
    for (int place = first + 1; place < first + WAYS; place++) {
      Entry best = entries.get(oldest);
      Entry other = entries.get(place);
      boolean idler = best != null && other != null && best.used && !other.used;
      boolean same = best != null && other != null && best.used == other.used;
      if (idler || (same && other.learnedAt - best.learnedAt < 0)) {
        oldest = place;
      }
    }
    for (int place = first; place < first + WAYS; place++) {
      Entry spared = entries.get(place);
      if (spared != null) {
        spared.used = false;
      }
    }
    return oldest;
  }

  private void clear(int place) {
    Entry there = entries.get(place);
    if (there != null) {
      texts.setRelease(place, 0);
      entries.setRelease(place, null);
      usedBytes.addAndGet(-there.bytes());
    }
  }

  /** Evicts entries in clock order. An entry used since the last round is kept once. */
  private void makeRoom(int but) {
    while (bytes() > maxBytes) {
      hand = (hand + 1) % entries.length();
      Entry there = entries.get(hand);
      if (there != null && there.used && hand != but) {
        there.used = false;
      } else if (there != null && (hand != but || there.bytes() > maxBytes / 2)) {
        clear(hand);
      }
    }
  }

  /** Lookups that found the ids of the whole prompt. */
  public long wholes() {
    return whole.sum();
  }

  /** Lookups that found the ids of a beginning. */
  public long parts() {
    return part.sum();
  }

  /** Lookups that found nothing. */
  public long unknown() {
    return none.sum();
  }

  /** Current memory in bytes. */
  public long bytes() {
    return usedBytes.get() + (long) texts.length() * (Long.BYTES + Integer.BYTES);
  }

  /** Maximum memory in bytes. */
  public long maxBytes() {
    return maxBytes;
  }
}
