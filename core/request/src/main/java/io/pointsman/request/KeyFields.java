package io.pointsman.request;

import static io.pointsman.request.Field.*;

/**
 * The body fields that form the routing key of a route. They are the fields that the engine renders
 * into the prompt.
 */
enum KeyFields {
  /** No fields: the engine renders no prompt, or only counts its tokens. */
  NONE,
  CHAT(
      TOOLS,
      FUNCTIONS,
      SYSTEM,
      DOCUMENTS,
      MESSAGES,
      ADD_GENERATION_PROMPT,
      CONTINUE_FINAL_MESSAGE,
      CHAT_TEMPLATE,
      CHAT_TEMPLATE_KWARGS),
  COMPLETIONS(PROMPT, PROMPT_TOKEN_IDS, SUFFIX, PROMPT_EMBEDS, MULTI_MODAL_DATA),
  RESPONSES(TOOLS, INSTRUCTIONS, PROMPT, INPUT),
  /** Embeddings, pooling, classification and speech: a text or a chat. */
  INPUTS(CHAT, INPUT, PROMPT, TEXT),
  /** Rerank and score, with the field names of all known versions. */
  PAIRS(QUERY, QUERIES, TEXT_1, DATA_1, DOCUMENTS, TEXT_2, DATA_2, ITEMS),
  GENERATE(
      TEXT,
      INPUT_IDS,
      PROMPT,
      PROMPT_TOKEN_IDS,
      TOKEN_IDS,
      IMAGE_DATA,
      VIDEO_DATA,
      AUDIO_DATA,
      MULTI_MODAL_DATA,
      FEATURES,
      PROMPT_EMBEDS,
      INPUT_EMBEDS),
  ALL(Field.values());

  private static final long ALWAYS =
      bits(CACHE_SALT, EXTRA_KEY, LORA_NAME, LORA_PATH, LORA_ID, LORA_REQUEST, ADAPTER, ADAPTER_ID)
          | bits(ADAPTER_NAME);

  private final long bits;

  KeyFields(Field... fields) {
    bits = bits(fields);
  }

  KeyFields(KeyFields base, Field... fields) {
    bits = base.bits | bits(fields);
  }

  boolean has(Field field) {
    return ((bits | ALWAYS) & field.bit()) != 0;
  }

  private static long bits(Field... fields) {
    long bits = 0;
    for (Field field : fields) {
      bits |= field.bit();
    }
    return bits;
  }
}
