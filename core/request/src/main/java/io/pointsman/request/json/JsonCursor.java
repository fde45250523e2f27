package io.pointsman.request.json;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Forward-only cursor over the bytes of one JSON text. It hashes values as it reads them. Texts add
 * blocks to {@link #blocks()}. Any other value has one hash, which depends neither on white space
 * nor on the order of members.
 *
 * <p>It never throws on invalid bytes. At the first error it records the problem, then behaves as
 * at the end of the text. Every loop over the cursor therefore ends.
 *
 * <p>It checks brackets, commas, colons, quotes and literals. It does not check the contents of
 * strings or the exact form of numbers. {@code NaN} and {@code Infinity} are valid, as in most
 * engines.
 *
 * <p>Not thread-safe. Reused for all texts of one reader. It is one class because its loops run for
 * each byte and share the position.
 */
public final class JsonCursor {
  /** Value of {@link #peek()} at the end of the text. */
  public static final int END = -1;

  /** Hash of {@code null}. */
  public static final long NULL = 0;

  private static final int MAX_LEVELS = 128;
  private static final int MAX_ESCAPED_KEY = 256;
  private static final int MAX_DATA_WEIGHT = 4096;
  private static final long OBJECT_SEED = 0x6F626A656374L;
  private static final long ARRAY_SEED = 0x6172726179L;

  /** Hash of {@code []}. */
  public static final long EMPTY_ARRAY = PrefixBlocks.mix(ARRAY_SEED);

  private static final long CACHE_CONTROL = JsonText.hash("cache_control");
  private static final long DATA = JsonText.hash("data");
  private static final long NO_KEY = 0;
  private static final byte[] NOTHING = {};

  private final StringScanner strings;
  private final BlockRun blocks = new BlockRun();
  private final BlockRun scratch = new BlockRun();
  private final long[] sums = new long[MAX_LEVELS];
  private final long[] keys = new long[MAX_LEVELS];

  /** Weight before the key of the current member, by level. */
  private final long[] weights = new long[MAX_LEVELS];

  private long[] kinds = new long[16];

  private byte[] bytes = NOTHING;
  private int start;
  private int pos;
  private int limit;
  private @Nullable String problem;
  private int problemAt;
  private boolean endsEarly;
  private boolean nested;

  private byte[] keyBytes = NOTHING;
  private int keyFrom;
  private int keyTo;

  /** True if {@link #keyBytes} is a copy of the key with its escapes resolved. */
  private boolean keyUnescaped;

  private long keyHash;

  /**
   * Key of the value that {@link #value(long)} reads; {@link #NO_KEY} if the value is not a member.
   */
  private long valueKey;

  private long weightBeforeKey;
  private long weight;

  public JsonCursor(StringScanner strings) {
    this.strings = strings;
  }

  /** Starts a new text. Skips a byte order mark at its start. */
  public void reset(byte[] bytes, int from, int to) {
    this.bytes = bytes;
    start = from;
    pos = from;
    limit = to;
    problem = null;
    problemAt = 0;
    endsEarly = false;
    nested = false;
    weight = 0;
    blocks.truncate(0);
    if (kinds.length > 1024) {
      kinds = new long[16];
    }
    boolean mark =
        to - from >= 3
            && bytes[from] == (byte) 0xEF
            && bytes[from + 1] == (byte) 0xBB
            && bytes[from + 2] == (byte) 0xBF;
    if (mark) {
      pos += 3;
    }
  }

  /** Drops the references to the bytes. */
  public void release() {
    bytes = NOTHING;
    keyBytes = NOTHING;
  }

  /** The blocks of the texts read since {@link #reset}. */
  public BlockRun blocks() {
    return blocks;
  }

  /** The problem of the text; null as long as it is valid. */
  public @Nullable String problem() {
    return problem;
  }

  /** Offset of the problem in bytes from the start of the text. */
  public int problemAt() {
    return problemAt;
  }

  /** True if the problem is that the text ends too early. */
  public boolean endsEarly() {
    return endsEarly;
  }

  /** Number of bytes read. */
  public int position() {
    return pos - start;
  }

  /**
   * Size of the hashed content in bytes of keys, strings and scalars. White space, punctuation and
   * members without effect on the hash do not count. Binary data counts up to 4 KiB.
   */
  public long weight() {
    return weight;
  }

  /** Hash of the last key, with its escapes resolved. */
  public long keyHash() {
    return keyHash;
  }

  /** True if the last key, with its escapes resolved, equals the ASCII name. */
  public boolean keyIs(String name) {
    return keyTo - keyFrom == name.length() && JsonText.startsWith(keyBytes, keyFrom, keyTo, name);
  }

  /** The last key, with its escapes resolved. */
  public String key() {
    return keyUnescaped
        ? new String(keyBytes, keyFrom, keyTo - keyFrom, StandardCharsets.UTF_8)
        : JsonText.decode(keyBytes, keyFrom, keyTo);
  }

  /** Skips white space. Returns the next byte, or {@link #END}. */
  public int peek() {
    while (pos < limit) {
      int c = bytes[pos] & 0xFF;
      if (c > ' ' || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) {
        return c;
      }
      pos++;
    }
    return END;
  }

  /**
   * Enters the object at the cursor. Returns true and reads the first key if the object has a
   * member.
   */
  public boolean firstMember() {
    nested = true;
    pos++;
    if (peek() == '}') {
      pos++;
      return false;
    }
    return readKey();
  }

  /**
   * Moves on after the value of a member. Returns true and reads the next key; false at the end of
   * the object.
   */
  public boolean nextMember() {
    return next('}') && readKey();
  }

  /**
   * Enters the array at the cursor. Returns true if the array has an element; the cursor is then at
   * it.
   */
  public boolean firstElement() {
    nested = true;
    pos++;
    if (peek() == ']') {
      pos++;
      return false;
    }
    return true;
  }

  /**
   * Moves on after an element. Returns true if another element follows; false at the end of the
   * array.
   */
  public boolean nextElement() {
    return next(']');
  }

  /** Ends the text after its value. Records a problem if more bytes than white space follow. */
  public void finish() {
    if (problem == null && peek() != END) {
      fail("more data after the end of the value");
    }
  }

  /**
   * Reads the string at the cursor and adds its blocks.
   *
   * @return length of the string in bytes, with its escapes
   */
  public int text() {
    return text(blocks);
  }

  private int text(BlockRun out) {
    int from = pos + 1;
    int before = out.count();
    int end = strings.scan(bytes, from, limit, out);
    if (end < 0) {
      int length = limit - from;
      if (out.count() > before) {
        out.endOnFullBlock();
      }
      failAtEnd();
      return length;
    }
    pos = end + 1;
    return end - from;
  }

  /**
   * Reads integers up to the end of the array or the first other element. Adds a block for each 16
   * integers and one for the rest. Stops before the separator.
   *
   * @return number of integers
   */
  public int ids() {
    int count = 0;
    long hash = 0;
    boolean more = true;
    while (more) {
      hash = TokenIds.fold(hash, id());
      count++;
      if (count % TokenIds.PER_BLOCK == 0) {
        blocks.add(TokenIds.piece(hash), TokenIds.PER_BLOCK);
        hash = 0;
      }
      more = nextId();
    }
    int rest = count % TokenIds.PER_BLOCK;
    if (rest != 0) {
      blocks.add(TokenIds.lastPiece(hash, rest), rest);
    }
    return count;
  }

  /** Reads the value at the cursor. Returns its hash. */
  public long value() {
    return value(NO_KEY);
  }

  /** Reads the value of the last key. Returns its hash. */
  public long memberValue() {
    return value(keyHash);
  }

  private long value(long key) {
    valueKey = key;
    int depth = 0;
    while (true) {
      int c = peek();
      long hash;
      if (c == '{' || c == '[') {
        open(depth++, c == '{');
        boolean more = c == '{' ? firstMember() : firstElement();
        if (more) {
          rememberKey(depth - 1);
          continue;
        }
        hash = close(--depth);
      } else {
        hash = c == '"' ? string(depth) : scalar(c);
      }
      while (depth > 0) {
        add(depth - 1, hash);
        boolean object = object(depth - 1);
        if (object ? nextMember() : nextElement()) {
          rememberKey(depth - 1);
          break;
        }
        hash = close(--depth);
      }
      if (depth == 0) {
        return hash;
      }
    }
  }

  private boolean next(char closing) {
    int c = peek();
    if (c == ',') {
      pos++;
      return true;
    }
    if (c == closing) {
      pos++;
    } else {
      unexpected(c, closing == '}' ? "',' or '}'" : "',' or ']'");
    }
    return false;
  }

  private boolean readKey() {
    int c = peek();
    if (c != '"') {
      unexpected(c, "a key in quotes");
      return false;
    }
    int from = pos + 1;
    int end = Words.plainEnd(bytes, from, limit);
    if (end < 0) {
      end = longKey(from);
    } else {
      keyUnescaped = false;
      keyHash = BlockHash.ofShort(bytes, from, end);
      keyBytes = bytes;
      keyFrom = from;
      keyTo = end;
    }
    if (end < 0) {
      failAtEnd();
      return false;
    }
    weightBeforeKey = weight;
    weight += end - from;
    pos = end + 1;
    c = peek();
    if (c != ':') {
      unexpected(c, "':'");
      return false;
    }
    pos++;
    return true;
  }

  /** Reads a key that is long or has escapes. Returns its end; -1 if the text ends first. */
  private int longKey(int from) {
    int end = strings.scan(bytes, from, limit, scratch);
    keyUnescaped = false;
    keyHash = scratch.fold();
    keyBytes = bytes;
    keyFrom = from;
    keyTo = end;
    if (end - from <= MAX_ESCAPED_KEY && JsonText.escaped(bytes, from, end)) {
      keyUnescaped = true;
      keyBytes = JsonText.unescape(bytes, from, end);
      keyFrom = 0;
      keyTo = keyBytes.length;
      keyHash = BlockHash.of(keyBytes, 0, keyTo);
    }
    return end;
  }

  private void open(int level, boolean object) {
    int word = level >>> 6;
    if (word == kinds.length) {
      kinds = Arrays.copyOf(kinds, 2 * word);
    }
    long bit = 1L << level;
    kinds[word] = object ? kinds[word] | bit : kinds[word] & ~bit;
    if (level < MAX_LEVELS) {
      sums[level] = object ? OBJECT_SEED : ARRAY_SEED;
    }
  }

  private boolean object(int level) {
    return (kinds[level >>> 6] & (1L << level)) != 0;
  }

  private void rememberKey(int level) {
    if (level < MAX_LEVELS) {
      keys[level] = keyHash;
      weights[level] = weightBeforeKey;
    }
  }

  /**
   * Values deeper than the last level are folded in order of arrival. Depth is bounded, content is
   * not.
   */
  private void add(int level, long hash) {
    if (level >= MAX_LEVELS) {
      sums[MAX_LEVELS - 1] = BlockHash.fold(sums[MAX_LEVELS - 1], hash);
    } else if (!object(level)) {
      sums[level] = BlockHash.fold(sums[level], hash);
    } else if (hash != NULL && keys[level] != CACHE_CONTROL) {
      sums[level] += BlockHash.member(keys[level], hash);
    } else {
      weight = weights[level];
    }
  }

  private long close(int level) {
    return level < MAX_LEVELS ? PrefixBlocks.mix(sums[level]) : ARRAY_SEED;
  }

  private long string(int depth) {
    int from = pos + 1;
    int end = Words.plainEnd(bytes, from, limit);
    if (end >= 0) {
      pos = end + 1;
      weight += end - from;
      return JsonText.valueHash(BlockHash.ofShort(bytes, from, end));
    }
    int length = text(scratch);
    weight += length <= MAX_DATA_WEIGHT || !data(depth, from) ? length : MAX_DATA_WEIGHT;
    return JsonText.valueHash(scratch.fold());
  }

  /**
   * True if a long string is an image or sound. Its length in bytes is independent of its size in
   * tokens.
   */
  private boolean data(int depth, int from) {
    return keyAt(depth) == DATA || JsonText.startsWith(bytes, from, limit, "data:");
  }

  /** Key of the value at this depth; {@link #NO_KEY} if the value is not a member. */
  private long keyAt(int depth) {
    if (depth == 0) {
      return valueKey;
    }
    return depth <= MAX_LEVELS && object(depth - 1) ? keys[depth - 1] : NO_KEY;
  }

  private long scalar(int c) {
    int from = pos;
    int to = JsonText.scalarEnd(bytes, from, limit);
    boolean whole = JsonText.scalar(bytes, from, to);
    if (to == limit && JsonText.startsScalar(c) && (nested || !whole)) {
      failAtEnd();
      return NULL;
    }
    if (!whole) {
      unexpected(c, "a value");
      return NULL;
    }
    pos = to;
    weight += to - from;
    return c == 'n' ? NULL : BlockHash.of(bytes, from, to) ^ JsonText.SCALAR_SEED;
  }

  /** Reads an integer by its value. Reads any other scalar by its characters. */
  private long id() {
    int from = pos;
    int digits = Words.digits(bytes, from, limit);
    if (digits > 0 && JsonText.endsScalar(bytes[from + digits])) {
      pos = from + digits;
      return Words.number(bytes, from, digits);
    }
    long id = 0;
    int i = from;
    while (i < limit && i - from < 18 && bytes[i] >= '0' && bytes[i] <= '9') {
      id = 10 * id + (bytes[i] - '0');
      i++;
    }
    if (i == from || i == limit || !JsonText.endsScalar(bytes[i])) {
      return scalar(bytes[from] & 0xFF);
    }
    pos = i;
    return id;
  }

  /** Moves to the next element if it is a number without a sign; otherwise stays. */
  private boolean nextId() {
    int behind = pos;
    if (peek() == ',') {
      pos++;
      int c = peek();
      if (c >= '0' && c <= '9') {
        return true;
      }
    }
    pos = behind;
    return false;
  }

  private void unexpected(int c, String expected) {
    if (c == END) {
      failAtEnd();
    } else if (c > ' ' && c < 0x7F) {
      fail("unexpected '" + (char) c + "', expected " + expected);
    } else {
      fail("unexpected byte " + c + ", expected " + expected);
    }
  }

  private void failAtEnd() {
    pos = limit;
    if (problem == null) {
      endsEarly = true;
    }
    fail("ends too early");
  }

  private void fail(String reason) {
    if (problem == null) {
      problem = reason;
      problemAt = pos - start;
    }
    pos = limit;
  }
}
