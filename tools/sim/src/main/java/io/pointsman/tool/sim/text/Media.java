package io.pointsman.tool.sim.text;

/**
 * Token ids of content that is not text. In the engine each part has its own ids, so equal parts
 * have common prefixes and others do not, like SGLang's padding. vLLM shows all of them as one
 * placeholder and distinguishes parts by an additional hash.
 */
public final class Media {
  /** Number of ids per part. */
  public static final int TOKENS = 64;

  /** The id shown for each id of a part, if ids do not distinguish parts. */
  public static final int PLACEHOLDER = ChatTemplate.MEDIA;

  private static final int FIRST = PLACEHOLDER + 1;
  private static final int PARTS = 1 << 23;

  private Media() {}

  /** The id at {@code offset} of a part with this content. */
  static int id(String content, int offset) {
    return FIRST + (content.hashCode() & (PARTS - 1)) * TOKENS + offset;
  }

  /** Returns true if an id belongs to a part. */
  public static boolean is(int id) {
    return id >= FIRST;
  }

  /** A number that is equal for equal parts. */
  public static int part(int id) {
    return (id - FIRST) / TOKENS;
  }

  /** Number of ids of its part before it. */
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
