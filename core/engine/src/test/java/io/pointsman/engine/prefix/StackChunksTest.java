package io.pointsman.engine.prefix;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StackChunksTest {
  private static final int ENGINES = 8;

  /** The last two values were computed by production-stack's own library. */
  @ParameterizedTest
  @CsvSource({
    "'', -1205034819632174695",
    "a, -3292477735350538661",
    "abc, 4952883123889572249",
    "é, 1717938401253289848"
  })
  void hashesAreThoseOfXxHash64(String text, long hash) {
    byte[] bytes = text.getBytes(UTF_8);

    assertThat(XxHash64.hash(bytes, bytes.length)).isEqualTo(hash);
  }

  @Test
  void aTextIsCutByCharactersNotByBytes() {
    String a = "a".repeat(128);
    assertThat(StackChunks.hashes("")).isEmpty();
    assertThat(StackChunks.hashes(a)).containsExactly(7300379565935374962L);
    assertThat(StackChunks.hashes(a + a + "\u00e9"))
        .containsExactly(7300379565935374962L, 7300379565935374962L, 1717938401253289848L);

    String emoji = "\ud83d\ude00".repeat(128);
    assertThat(StackChunks.hashes(emoji + a)).hasSize(2).endsWith(7300379565935374962L);
  }

  @Test
  void equalBeginningsHaveEqualChunks() {
    long[] one = StackChunks.hashes("x".repeat(300) + "one");
    long[] other = StackChunks.hashes("x".repeat(300) + "other");

    assertThat(Arrays.mismatch(one, other)).isEqualTo(2);
  }

  /**
   * The original's rule: a random one of the engines with the longest known beginning, or of all.
   */
  private static final class Router {
    private final Map<String, Set<Integer>> nodes = new HashMap<>();
    private final Random random;

    Router(int seed) {
      random = new Random(seed);
    }

    int route(String text) {
      Set<Integer> candidates = new TreeSet<>();
      for (int i = 0; i < ENGINES; i++) {
        candidates.add(i);
      }
      StringBuilder path = new StringBuilder();
      for (long chunk : StackChunks.hashes(text)) {
        Set<Integer> had = nodes.getOrDefault(path.append(chunk).append('/').toString(), Set.of());
        Set<Integer> common = new TreeSet<>(candidates);
        common.retainAll(had);
        if (common.isEmpty()) {
          break;
        }
        candidates = common;
      }
      int chosen =
          candidates.stream().skip(random.nextInt(candidates.size())).findFirst().orElse(0);
      path.setLength(0);
      for (long chunk : StackChunks.hashes(text)) {
        path.append(chunk).append('/');
        nodes.computeIfAbsent(path.toString(), _ -> new HashSet<>()).add(chosen);
      }
      return chosen;
    }
  }

  /**
   * The reason why no built-in policy uses them: even two such routers do not agree by these
   * hashes.
   */
  @Test
  void routersWithEqualHashesAgreeOnlyByChance() {
    Router one = new Router(1);
    Router other = new Router(2);
    int met = 0;
    int stayed = 0;
    int prompts = 4_000;
    for (int i = 0; i < prompts; i++) {
      String text = "prompt " + i + " ".repeat(200);
      int first = one.route(text);
      stayed += one.route(text) == first ? 1 : 0;
      met += other.route(text) == first ? 1 : 0;
    }

    assertThat(stayed).isEqualTo(prompts);
    assertThat((double) met / prompts).isBetween(0.8 / ENGINES, 1.2 / ENGINES);
  }
}
