package io.pointsman.sim.text;

/**
 * Token ids of content that is not text. In the engine each part has ids of its own, so that equal
 * parts share a prefix and others do not, as SGLang pads them. vLLM shows all of them as one
 * placeholder, and tells parts apart by what it hashes beside the ids.
 */
public final class Media {
  /** Ids that each part counts. */
  public static final int TOKENS = 64;

  /** What stands for each id of a part where parts are not told apart by ids. */
  public static final int PLACEHOLDER = ChatTemplate.MEDIA;

  private static final int FIRST = PLACEHOLDER + 1;
  private static final int PARTS = 1 << 23;

  private Media() {}

  /** The id at {@code offset} of a part with this content. */
  static int id(String content, int offset) {
    return FIRST + (content.hashCode() & (PARTS - 1)) * TOKENS + offset;
  }

  /** Whether an id belongs to a part. */
  public static boolean is(int id) {
    return id >= FIRST;
  }

  /** A number that equal parts have in common. */
  public static int part(int id) {
    return (id - FIRST) / TOKENS;
  }

  /** How many ids of its part stand before it. */
  public static int offset(int id) {
    return (id - FIRST) % TOKENS;
  }

  /** The id as vLLM shows it. */
  public static int shown(int id) {
    return is(id) ? PLACEHOLDER : id;
  }

  /** The ids of a prompt as vLLM shows them. */
  public static int[] shown(int[] ids) {
    int[] shown = ids.clone();
    for (int i = 0; i < shown.length; i++) {
      shown[i] = shown(shown[i]);
    }
    return shown;
  }
}
