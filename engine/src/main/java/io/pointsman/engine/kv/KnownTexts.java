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
 * The token ids of texts that engines have rendered, as hashes of their full blocks, found by the
 * hash that a routing key of text has at the end of a message. So the next turn of a conversation
 * finds the ids of all that it shares with the turn before.
 *
 * <p>A beginning that different prompts share, such as a system prompt, is never rendered by
 * itself: its ids are those that two of them have in common, known once two were learned that
 * differ right behind it, but for a few equal words that may follow. Whatever is known is corrected
 * in the same way by each prompt that goes on from there, since templates render the end of a
 * prompt differently once it goes on.
 *
 * <p>Lookups take no lock. Bounded in bytes by construction: what was not used for long makes room,
 * and nothing is believed for longer than an hour, since templates change.
 */
public final class KnownTexts implements TokenKeys {
  private static final int WAYS = 4;
  private static final long BYTES_PER_PLACE = 256;
  private static final int LEAST_PLACES = 256;
  private static final int MOST_PLACES = 1 << 20;

  /** Bytes of an entry without its blocks, with its share of the table. */
  private static final int ENTRY_BYTES = 96;

  /** Blocks of text looked at from the end of a prompt on: 256 KiB. */
  private static final int MOST_LOOKS = 4096;

  private static final long MOST_AGE_NANOS = TimeUnit.HOURS.toNanos(1);
  private static final long SALT = 0;
  private static final long BASE = PrefixBlocks.mix(SALT);

  /** Of a beginning that only one prompt is known to have. */
  private static final int UNTOLD = -1;

  /** What one beginning of prompts comes to. */
  private static final class Entry {
    private final long text;

    /** Chained hashes of full blocks; of a beginning that is untold, those of the one prompt. */
    private final long[] blocks;

    /** How many of them every prompt with this beginning has; {@link #UNTOLD} while not known. */
    private final int shared;

    /** Ids of the prompt that ends here; 0 if none is known to. */
    private final int tokens;

    /** Hash of the text's next block in the one prompt that is known. */
    private final long next;

    private final long learnedAt;

    /** Races are harmless: an entry that was used may go a little earlier. */
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
   * What is known of one prompt.
   *
   * @param blocks of the text that the entry is about
   */
  private record Found(Entry entry, int blocks) {
    /** Whether the prompt ends there. */
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
  private final AtomicLong held = new AtomicLong();

  /** Next place to be looked at when room is needed; guarded by this. */
  private int hand;

  /**
   * @param maxBytes most bytes it may ever take; at least 1 MiB
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

  /** The longest beginning of a text whose ids are known; null if there is none. */
  private @Nullable Found look(PrefixBlocks text) {
    if (held.get() == 0) {
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

  /** Whether all ids of exactly this prompt are known. */
  public boolean knows(PrefixBlocks text) {
    Entry entry = held.get() == 0 || text.count() == 0 ? null : find(text.whole());
    if (entry == null || entry.tokens == 0 || entry.stale(ticker.nanos())) {
      return false;
    }
    entry.used = true;
    return true;
  }

  /**
   * Takes in what an engine has rendered a conversation to.
   *
   * @param text the prompt's routing key
   * @param beginning hash that the routing key has where a beginning ends that others may share; 0
   *     for none
   * @param ids all ids of the prompt
   */
  public synchronized void learnMessages(PrefixBlocks text, long beginning, int[] ids) {
    long now = ticker.nanos();
    long[] blocks = blocks(ids, ids.length);
    correct(text, blocks, now);
    if (beginning != 0 && !fresh(beginning, now)) {
      for (int i = 0; i < text.count() - 1; i++) {
        if (text.hashes()[i] == beginning) {
          put(new Entry(beginning, blocks, UNTOLD, 0, text.hashes()[i + 1], now));
        }
      }
    }
    put(new Entry(text.whole(), blocks, blocks.length, ids.length, 0, now));
  }

  /**
   * Takes in what an engine has rendered one text to. A longer text that begins with it shares its
   * full blocks of bytes; ids that reach into what is left over are not counted for those.
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
      // Each id stands for a byte at least; one may reach across the border.
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

  /** What was known of the prompt's beginnings holds as far as this prompt has it too. */
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
    boolean told = entry.shared != UNTOLD;
    if (told ? common < entry.shared : next != entry.next) {
      long[] kept = Arrays.copyOf(entry.blocks, told ? Math.min(common, entry.shared) : common);
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
    clear(chosen);
    held.addAndGet(entry.bytes());
    entries.setRelease(chosen, entry);
    texts.setRelease(chosen, entry.text);
    makeRoom(chosen);
  }

  /** Of a full set; what was used since one of it had to go is spared once. */
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
      held.addAndGet(-there.bytes());
    }
  }

  /** Goes round; what was used since it last came by is spared once. */
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

  /** Prompts whose ids were looked up and known to their end. */
  public long wholes() {
    return whole.sum();
  }

  /** Prompts of which a beginning was known. */
  public long parts() {
    return part.sum();
  }

  /** Prompts of which nothing was known. */
  public long unknown() {
    return none.sum();
  }

  /** Bytes taken at present. */
  public long bytes() {
    return held.get() + (long) texts.length() * (Long.BYTES + Integer.BYTES);
  }

  /** Most bytes it may ever take. */
  public long maxBytes() {
    return maxBytes;
  }
}
