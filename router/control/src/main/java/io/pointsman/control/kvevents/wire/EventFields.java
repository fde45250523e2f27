package io.pointsman.control.kvevents.wire;

import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvTier;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ValueType;

/**
 * The members of one event in any order, and the KV events built from them.
 *
 * <p>Blocks of an attention group other than the first get separate ids. Engines give equal hashes
 * to equal tokens in all groups, and one group may evict a block that another keeps.
 *
 * <p>SGLang before November 2025 (pull request 13488) identified a page by Python's hash of its own
 * tokens. It also reported no parent for the first of several pages of a tree node. The position of
 * such a page in a prompt is unknown.
 */
final class EventFields {
  private static final long[] NO_BLOCKS = {};
  private static final int[] NO_TOKENS = {};
  private static final int LONGEST_HASH = 256;
  private static final int MOST_BLOCK_SIZE = 1 << 20;

  /** Attention kinds with KV for every token of the prompt. */
  private static final Set<String> WHOLE =
      Set.of("full_attention", "mla_attention", "sink_full_attention");

  /** Member names of positional events, after the kind. */
  private static final List<String> STORED =
      List.of(
          "block_hashes",
          "parent_block_hash",
          "token_ids",
          "block_size",
          "lora_id",
          "medium",
          "lora_name",
          "extra_keys",
          "group_idx",
          "kv_cache_spec_kind",
          "kv_cache_spec_sliding_window",
          "locality",
          "ownership",
          "session_id");

  private static final List<String> REMOVED =
      List.of("block_hashes", "medium", "group_idx", "locality", "ownership");

  private final BatchReader reader;
  private final MessageUnpacker in;
  private long @Nullable [] hashes;
  private @Nullable Long parent;
  private int @Nullable [] tokens;
  private long blockSize;
  private @Nullable String medium;
  private @Nullable String locality;
  private boolean ofAdapter;
  private @Nullable String adapter;
  private long group;
  private boolean positional;

  /** True if the blocks depend on more than tokens and adapter. */
  private boolean opaque;

  /** Further dependencies of each block: null for none; a single text may be the adapter. */
  private @Nullable String @Nullable [] extras;

  EventFields(BatchReader reader) {
    this.reader = reader;
    in = reader.in();
  }

  /** The names of the members after the kind; empty for unknown kinds. */
  static List<String> positions(String kind) {
    return switch (kind) {
      case "BlockStored", "BlockStoredWithMetadata" -> STORED;
      case "BlockRemoved" -> REMOVED;
      default -> List.of();
    };
  }

  void positional() {
    positional = true;
  }

  /** Reads the value of a member; unknown members are skipped. */
  void read(String name) throws IOException, MalformedBatch {
    switch (name) {
      case "block_hashes" -> hashes = hashes();
      case "parent_block_hash" -> parent = in.tryUnpackNil() ? null : Long.valueOf(hash());
      case "token_ids" -> tokens = tokens();
      case "block_size" -> blockSize = in.tryUnpackNil() ? 0 : reader.number();
      case "lora_id" -> ofAdapter = adapterId();
      case "medium" -> medium = reader.text();
      case "lora_name" -> adapter();
      case "extra_keys" -> extras = extras();
      case "group_idx" -> group = in.tryUnpackNil() ? 0 : reader.number();
      case "kv_cache_spec_kind" -> {
        String kind = reader.text();
        opaque |= kind != null && !WHOLE.contains(kind);
      }
      case "kv_cache_spec_sliding_window", "cache_salt", "metadata" -> opaque |= isThere();
      case "locality" -> locality = reader.text();
      default -> in.skipValue();
    }
  }

  /**
   * Adds the KV events of this event.
   *
   * @return true if its kind is known
   */
  boolean make(String kind, List<KvEvent> into) throws MalformedBatch {
    switch (kind) {
      case "BlockStored", "BlockStoredWithMetadata" -> stored(into);
      case "BlockRemoved" -> into.add(new KvEvent.Removed(ids(), tier()));
      case "AllBlocksCleared" -> into.add(new KvEvent.Cleared());
      default -> {
        return false;
      }
    }
    return true;
  }

  private void stored(List<KvEvent> into) throws MalformedBatch {
    long[] blocks = ids();
    int[] text = tokens;
    if (text == null) {
      throw new MalformedBatch("event (expected: token_ids)");
    }
    if (blocks.length == 0) {
      return;
    }
    if (text.length >= size() && blocks[0] == TupleHash.of(text, (int) size())) {
      opaque = true;
      reader.positionless();
    }
    // One writer has no adapter id and writes a salt in place of the adapter name.
    boolean named = adapter != null && (ofAdapter || !positional);
    boolean plain = !opaque && group == 0 && (named || (adapter == null && !ofAdapter));
    Long before = parent == null ? null : Long.valueOf(ofGroup(parent));
    if (!plain || text.length == 0) {
      into.add(new KvEvent.Stored(blocks, before, NO_TOKENS, (int) size(), tier(), adapter, plain));
      return;
    }
    if (size() * blocks.length != text.length) {
      throw new MalformedBatch("token_ids (expected: block_size for each block)");
    }
    split(into, blocks, before, text);
  }

  private long size() {
    return Math.clamp(blockSize, 1, MOST_BLOCK_SIZE);
  }

  /** Splits the blocks at the first one that depends on more than its tokens. */
  private void split(List<KvEvent> into, long[] blocks, @Nullable Long before, int[] text) {
    int size = (int) size();
    int end = firstOpaque(blocks.length);
    if (end > 0) {
      into.add(
          new KvEvent.Stored(
              end == blocks.length ? blocks : Arrays.copyOf(blocks, end),
              before,
              end == blocks.length ? text : Arrays.copyOf(text, end * size),
              size,
              tier(),
              adapter,
              true));
    }
    if (end < blocks.length) {
      into.add(
          new KvEvent.Stored(
              Arrays.copyOfRange(blocks, end, blocks.length),
              end == 0 ? before : Long.valueOf(blocks[end - 1]),
              NO_TOKENS,
              size,
              tier(),
              adapter,
              false));
    }
  }

  private int firstOpaque(int blocks) {
    @Nullable String[] keys = extras;
    if (keys == null) {
      return blocks;
    }
    int at = 0;
    while (at < blocks && (at >= keys.length || isPlain(keys[at]))) {
      at++;
    }
    return at;
  }

  private boolean isPlain(@Nullable String extra) {
    return extra == null || extra.equals(adapter);
  }

  private long[] ids() throws MalformedBatch {
    long[] found = hashes;
    if (found == null) {
      throw new MalformedBatch("event (expected: block_hashes)");
    }
    for (int i = 0; i < found.length && group != 0; i++) {
      found[i] = ofGroup(found[i]);
    }
    return found;
  }

  private long ofGroup(long hash) {
    return group == 0 ? hash : mixed(hash + group * 0x9E3779B97F4A7C15L);
  }

  /** The finaliser of SplitMix64 (Steele, Lea, Flood, 2014): a bijection of 64 bits. */
  private static long mixed(long value) {
    long z = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  private KvTier tier() {
    String name = medium == null ? "" : medium.toUpperCase(Locale.ROOT);
    KvTier tier =
        switch (name) {
          case "HOST", "HOST_PINNED" -> KvTier.HOST;
          case "STORAGE", "DISK", "FS", "CPU_TIER2" -> KvTier.DISK;
          case "EXTERNAL", "REMOTE", "SHARED", "OBJ" -> KvTier.EXTERNAL;
          default -> name.startsWith("CPU") ? KvTier.HOST : KvTier.DEVICE;
        };
    boolean remote = locality != null && locality.equalsIgnoreCase("REMOTE");
    return remote && tier != KvTier.DEVICE ? KvTier.EXTERNAL : tier;
  }

  private boolean isThere() throws IOException {
    boolean there = !in.tryUnpackNil();
    if (there) {
      in.skipValue();
    }
    return there;
  }

  /** True if the value is an adapter id; 0 and nil mean no adapter. */
  private boolean adapterId() throws IOException, MalformedBatch {
    return reader.next() == ValueType.INTEGER ? reader.number() != 0 : isThere();
  }

  private void adapter() throws IOException, MalformedBatch {
    if (!in.tryUnpackNil()) {
      adapter = reader.text();
      opaque |= adapter == null;
    }
  }

  private long[] hashes() throws IOException, MalformedBatch {
    int count = reader.count(in.unpackArrayHeader());
    long[] read = count == 0 ? NO_BLOCKS : new long[count];
    for (int i = 0; i < count; i++) {
      read[i] = hash();
    }
    return read;
  }

  private long hash() throws IOException, MalformedBatch {
    return switch (reader.next()) {
      case INTEGER -> reader.number();
      case BINARY -> folded(reader.payload(in.unpackBinaryHeader(), LONGEST_HASH));
      case STRING -> folded(reader.payload(in.unpackRawStringHeader(), LONGEST_HASH));
      case NIL, BOOLEAN, FLOAT, ARRAY, MAP, EXTENSION ->
          throw new MalformedBatch("hash (expected: a whole number or bytes)");
    };
  }

  /**
   * A 64-bit number from bytes; up to eight bytes are the number itself, longer ones are hashed.
   */
  private static long folded(byte[] bytes) {
    long value = 0;
    for (byte each : bytes) {
      long next = each & 0xff;
      value = bytes.length <= Long.BYTES ? value << 8 | next : mixed(value ^ next);
    }
    return value;
  }

  /**
   * Token ids; empty if the list contains other values, for example pairs, which match no prompt.
   */
  private int[] tokens() throws IOException, MalformedBatch {
    int count = reader.count(in.unpackArrayHeader());
    int[] read = count == 0 ? NO_TOKENS : new int[count];
    boolean numbers = true;
    for (int i = 0; i < count; i++) {
      if (numbers && reader.next() == ValueType.INTEGER) {
        read[i] = (int) reader.number();
      } else {
        numbers = false;
        in.skipValue();
      }
    }
    opaque |= !numbers;
    return numbers ? read : NO_TOKENS;
  }

  private @Nullable String @Nullable [] extras() throws IOException, MalformedBatch {
    if (in.tryUnpackNil()) {
      return null;
    }
    int count = reader.count(in.unpackArrayHeader());
    @Nullable String[] read = new @Nullable String[count];
    for (int i = 0; i < count; i++) {
      read[i] = in.tryUnpackNil() ? null : extra();
    }
    return read;
  }

  /** The single text of a list; null for an empty list; empty for anything else. */
  private @Nullable String extra() throws IOException, MalformedBatch {
    if (reader.next() != ValueType.ARRAY) {
      in.skipValue();
      return "";
    }
    int count = in.unpackArrayHeader();
    if (count == 0) {
      return null;
    }
    boolean lone = count == 1 && reader.next() == ValueType.STRING;
    String text = lone ? reader.text() : null;
    for (int i = lone ? 1 : 0; i < count; i++) {
      in.skipValue();
    }
    return text == null ? "" : text;
  }
}
