package io.pointsman.request;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A known top-level field of a JSON body. Blocks of prompt fields are chained in the order of the
 * constants, independent of their order in the body. Fields that many requests share come first.
 */
enum Field {
  TOOLS(Use.TREES),
  FUNCTIONS(Use.TREES),
  SYSTEM(Use.PARTS),
  INSTRUCTIONS(Use.PARTS),
  QUERY(Use.PARTS),
  QUERIES(Use.PARTS),
  TEXT_1(Use.PARTS),
  DATA_1(Use.PARTS),
  DOCUMENTS(Use.PARTS),
  TEXT_2(Use.PARTS),
  DATA_2(Use.PARTS),
  ITEMS(Use.PARTS),
  MESSAGES(Use.ITEMS),
  INPUT(Use.ITEMS),
  PROMPT(Use.ITEMS),
  TEXT(Use.ITEMS),
  TOKEN_IDS(Use.ITEMS),
  INPUT_IDS(Use.ITEMS),
  PROMPT_TOKEN_IDS(Use.ITEMS),
  TOKENS(Use.ITEMS),
  SUFFIX(Use.PARTS),
  ADD_GENERATION_PROMPT(Use.SWITCH),
  CONTINUE_FINAL_MESSAGE(Use.SWITCH),

  CHAT_TEMPLATE(Use.SALT),
  CHAT_TEMPLATE_KWARGS(Use.SALT),
  IMAGE_DATA(Use.SALT),
  VIDEO_DATA(Use.SALT),
  AUDIO_DATA(Use.SALT),
  MULTI_MODAL_DATA(Use.SALT),
  FEATURES(Use.SALT),
  PROMPT_EMBEDS(Use.SALT),
  INPUT_EMBEDS(Use.SALT),
  CACHE_SALT(Use.SALT),
  EXTRA_KEY(Use.SALT),
  LORA_NAME(Use.SALT),
  LORA_PATH(Use.SALT),
  LORA_ID(Use.SALT),
  LORA_REQUEST(Use.SALT),
  ADAPTER(Use.SALT),
  ADAPTER_ID(Use.SALT),
  ADAPTER_NAME(Use.SALT),

  MODEL(Use.FACT),
  STREAM(Use.FACT),
  PREVIOUS_RESPONSE_ID(Use.FACT),
  BACKGROUND(Use.FACT),

  VLLM_XARGS(Use.IDENTITY),
  AGENT_HINT(Use.IDENTITY),
  SESSION_PARAMS(Use.IDENTITY),
  CONVERSATION(Use.IDENTITY),
  PROMPT_CACHE_KEY(Use.IDENTITY),
  USER(Use.IDENTITY),
  SESSION_ID(Use.IDENTITY),
  USER_ID(Use.IDENTITY),
  METADATA(Use.IDENTITY),
  SAFETY_IDENTIFIER(Use.IDENTITY);

  /** Purpose of a field. */
  enum Use {
    /** Part of the prompt: a text, token ids, or a list of texts, token ids or messages. */
    ITEMS,
    /** Part of the prompt: a text, token ids, or a list of texts, token ids or content parts. */
    PARTS,
    /** Part of the prompt: a list of objects; each object is hashed as one value. */
    TREES,
    /** Part of the prompt: a boolean that changes the end of the prompt. */
    SWITCH,
    /** Requests with different values share no prefix. */
    SALT,
    FACT,
    IDENTITY
  }

  private static final Field[] ALL = values();
  private static final int SLOTS = 256;
  private static final @Nullable Field[] BY_HASH = byHash();

  private final Use use;
  private final String key;
  private final long hash;

  Field(Use use) {
    this.use = use;
    key = name().toLowerCase(Locale.ROOT);
    hash = JsonText.hash(key);
  }

  Use use() {
    return use;
  }

  String key() {
    return key;
  }

  /** Hash of the field's name. */
  long hash() {
    return hash;
  }

  /** Position in the order of chaining. */
  @SuppressWarnings("EnumOrdinal") // the order of the constants is the order of chaining
  int index() {
    return ordinal();
  }

  /** Bit of this field in a set of fields. */
  long bit() {
    return 1L << index();
  }

  static int count() {
    return ALL.length;
  }

  /** The field of the key at the cursor; null if the key is unknown. */
  static @Nullable Field at(JsonCursor json) {
    int slot = slot(json.keyHash());
    while (true) {
      Field field = BY_HASH[slot];
      if (field == null) {
        return null;
      }
      if (field.hash == json.keyHash() && json.keyIs(field.key)) {
        return field;
      }
      slot = (slot + 1) % SLOTS;
    }
  }

  private static int slot(long hash) {
    return (int) (hash >>> 56);
  }

  private static @Nullable Field[] byHash() {
    @Nullable Field[] table = new Field[SLOTS];
    for (Field field : ALL) {
      int slot = slot(field.hash);
      while (table[slot] != null) {
        slot = (slot + 1) % SLOTS;
      }
      table[slot] = field;
    }
    return table;
  }
}
