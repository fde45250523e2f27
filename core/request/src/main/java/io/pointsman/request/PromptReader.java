package io.pointsman.request;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import io.pointsman.request.json.BlockHash;
import io.pointsman.request.json.BlockRun;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import java.util.Arrays;

/**
 * Builder of the routing key. It turns the prompt fields of a body into block hashes. The hashes
 * depend neither on white space nor on the order of fields, at any level.
 *
 * <p>Each prompt field is a section. Sections are chained in the order of {@link Field}. Text and
 * ids keep their order within a section. Each message, content part and text starts a new block. A
 * longer conversation therefore shares all blocks of a shorter one.
 *
 * <p>The other members of a message (role, name, tool calls) are combined without regard to order.
 * They are stamped onto the first block of the message. If they are larger than a block, further
 * blocks represent their size.
 *
 * <p>Null members count as absent. Among the other members of a message or part, and in salt
 * fields, an empty text or list also counts as absent. Clients send back fields such as {@code
 * "tool_calls":[]} of answers. {@code cache_control} is ignored in messages and parts, because
 * clients move this mark from turn to turn.
 */
final class PromptReader {
  private static final Field[] FIELDS = Field.values();

  private static final int MESSAGES = 0;
  private static final int PARTS = 1;
  private static final int IDS = 2;

  private static final long CONTENT = JsonText.hash("content");
  private static final long TEXT = JsonText.hash("text");
  private static final long TYPE = JsonText.hash("type");
  private static final long CACHE_CONTROL = JsonText.hash("cache_control");
  private static final long[] PLAIN_TYPES = {
    JsonText.stringHash("text"),
    JsonText.stringHash("input_text"),
    JsonText.stringHash("output_text"),
    JsonText.stringHash("message")
  };
  private static final long EMPTY_TEXT = JsonText.stringHash("");
  private static final long TRUE = JsonText.scalarHash("true");
  private static final long FALSE = JsonText.scalarHash("false");

  private final JsonCursor json;
  private final BlockRun blocks;
  private final int[] starts = new int[Field.count()];
  private final int[] counts = new int[Field.count()];
  private final int[] lastLengths = new int[Field.count()];
  private final long[] texts = new long[Field.count()];
  private final long[] ids = new long[Field.count()];
  private final int[] idLists = new int[Field.count()];
  private final long[] salts = new long[Field.count()];
  private long text;
  private long idCount;
  private int idListCount;

  PromptReader(JsonCursor json) {
    this.json = json;
    blocks = json.blocks();
  }

  void reset() {
    Arrays.fill(counts, 0);
    Arrays.fill(texts, 0);
    Arrays.fill(ids, 0);
    Arrays.fill(idLists, 0);
    Arrays.fill(salts, 0);
  }

  /** Reads the value of a field. A later occurrence of the field replaces an earlier one. */
  void read(Field field) {
    int index = field.index();
    starts[index] = blocks.count();
    text = 0;
    idCount = 0;
    idListCount = 0;
    switch (field.use()) {
      case ITEMS -> sequence(MESSAGES);
      case PARTS -> sequence(PARTS);
      case TREES -> trees();
      case SWITCH -> end(field);
      case SALT -> salts[index] = json.value();
      case FACT, IDENTITY -> throw new IllegalArgumentException(field.key());
    }
    counts[index] = blocks.count() - starts[index];
    lastLengths[index] = blocks.lastLength();
    texts[index] = text;
    ids[index] = idCount;
    idLists[index] = idListCount;
  }

  /**
   * The routing key of the fields read since {@link #reset}.
   *
   * @param modelHash hash of the model's name; 0 without a model
   */
  PrefixBlocks key(long modelHash) {
    int count = 0;
    int last = 0;
    long allText = 0;
    long allIds = 0;
    int lists = 0;
    long salt = modelHash;
    for (Field field : FIELDS) {
      int i = field.index();
      count += counts[i];
      last = counts[i] == 0 ? last : lastLengths[i];
      allText += texts[i];
      allIds += ids[i];
      lists += idLists[i];
      salt += nothing(salts[i]) ? 0 : BlockHash.member(field.hash(), salts[i]);
    }
    if (count == 0) {
      return PrefixBlocks.NONE;
    }
    long[] hashes = new long[count];
    int at = 0;
    for (int i = 0; i < counts.length; i++) {
      blocks.copyTo(starts[i], hashes, at, counts[i]);
      at += counts[i];
    }
    boolean idsAlone = allText == 0 && allIds > 0;
    int unit = idsAlone ? TokenIds.PER_BLOCK : BlockHash.BLOCK;
    int length = (count - 1) * unit + Math.clamp(last, 1, unit);
    int tokens = Math.clamp(allIds + allText / 4, 1, Integer.MAX_VALUE);
    PrefixBlocks key = PrefixBlocks.chain(salt, hashes, count, length, unit, tokens);
    if (!idsAlone) {
      return key.asText();
    }
    // Other prompt fields make the length differ from the number of ids.
    boolean onePrompt = lists == 1 && length == allIds && salt == modelHash;
    return onePrompt ? key.asTokenIds(salt) : key;
  }

  private void sequence(int level) {
    if (json.peek() == '[') {
      for (boolean more = json.firstElement(); more; more = json.nextElement()) {
        element(level);
      }
    } else {
      element(level);
    }
  }

  private void element(int level) {
    int c = json.peek();
    if (c == '"') {
      text += json.text();
    } else if (c >= '0' && c <= '9') {
      idCount += json.ids();
      idListCount++;
    } else if (c == '{' && level < IDS) {
      item(level);
    } else if (c == '[' && level < IDS) {
      sequence(IDS);
    } else {
      tree();
    }
  }

  /** Reads an object. One of its members is the text; the others form the header. */
  private void item(int level) {
    int first = blocks.count();
    long textKey = level == MESSAGES ? CONTENT : TEXT;
    long header = 0;
    long headerSize = 0;
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      long key = json.keyHash();
      if (key == textKey) {
        blocks.truncate(first);
        sequence(level + 1);
        continue;
      }
      long before = json.weight();
      long value = json.memberValue();
      if (counts(key, value)) {
        header += BlockHash.member(key, value);
        headerSize += json.weight() - before;
      }
    }
    close(first, header, headerSize);
  }

  private void close(int first, long header, long headerSize) {
    text += headerSize;
    if (blocks.count() == first) {
      if (header != 0) {
        blocks.addWeighted(header, headerSize);
      }
      return;
    }
    if (header != 0) {
      blocks.stamp(first, header);
    }
    if (headerSize >= BlockHash.BLOCK) {
      blocks.addWeighted(header, headerSize - BlockHash.BLOCK);
    }
  }

  private static boolean nothing(long value) {
    return value == JsonCursor.NULL || value == EMPTY_TEXT || value == JsonCursor.EMPTY_ARRAY;
  }

  private static boolean counts(long key, long value) {
    if (nothing(value) || key == CACHE_CONTROL) {
      return false;
    }
    if (key == TYPE) {
      for (long plain : PLAIN_TYPES) {
        if (value == plain) {
          return false;
        }
      }
    }
    return true;
  }

  private void trees() {
    if (json.peek() != '[') {
      tree();
      return;
    }
    for (boolean more = json.firstElement(); more; more = json.nextElement()) {
      tree();
    }
  }

  private void tree() {
    long before = json.weight();
    long value = json.value();
    if (value != JsonCursor.NULL) {
      blocks.addWeighted(value, json.weight() - before);
      text += json.weight() - before;
    }
  }

  /** Adds a block only if the value differs from the engine's default. */
  private void end(Field field) {
    long value = json.value();
    long deciding = field == Field.ADD_GENERATION_PROMPT ? FALSE : TRUE;
    if (value == deciding) {
      blocks.addWeighted(BlockHash.member(field.hash(), value), 0);
    }
  }
}
