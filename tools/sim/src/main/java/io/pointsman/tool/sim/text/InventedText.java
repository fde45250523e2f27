package io.pointsman.tool.sim.text;

import io.pointsman.tool.sim.cache.BlockHashes;

/**
 * The text of the simulated model: short invented words, a pure function of seed and position. A
 * response of any length thus takes no memory, and any part of it can be generated again.
 *
 * @param seed equal seeds give equal responses
 */
public record InventedText(long seed) {
  private static final String ONSETS = "bdfgklmnprstvz";
  private static final String VOWELS = "aeiou";
  private static final String CODAS = "lmnrst";
  private static final String[] WORDS = words();
  private static final int[] IDS = ids();

  /** The text of the token at {@code index}; every token after the first begins with a space. */
  public String text(int index) {
    String word = WORDS[word(index)];
    return index == 0 ? word.substring(1) : word;
  }

  /** The id of the token at {@code index}, equal to that of {@link Tokeniser} for its text. */
  public int id(int index) {
    return index == 0 ? Tokeniser.encode(text(0))[0] : IDS[word(index)];
  }

  /** The first {@code count} tokens as text. */
  public String firstWords(int count) {
    StringBuilder text = new StringBuilder(count * 5);
    for (int i = 0; i < count; i++) {
      text.append(text(i));
    }
    return text.toString();
  }

  /** The ids of the first {@code count} tokens. */
  public int[] ids(int count) {
    int[] ids = new int[count];
    for (int i = 0; i < count; i++) {
      ids[i] = id(i);
    }
    return ids;
  }

  private int word(int index) {
    long random = BlockHashes.mix(seed + 0x9E3779B97F4A7C15L * (index + 1L));
    return (int) Long.remainderUnsigned(random, WORDS.length);
  }

  private static String[] words() {
    String[] words = new String[ONSETS.length() * VOWELS.length() * CODAS.length()];
    for (int i = 0; i < words.length; i++) {
      int coda = i % CODAS.length();
      int vowel = i / CODAS.length() % VOWELS.length();
      int onset = i / CODAS.length() / VOWELS.length();
      words[i] = " " + ONSETS.charAt(onset) + VOWELS.charAt(vowel) + CODAS.charAt(coda);
    }
    return words;
  }

  private static int[] ids() {
    int[] ids = new int[WORDS.length];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = Tokeniser.encode(WORDS[i])[0];
    }
    return ids;
  }
}
