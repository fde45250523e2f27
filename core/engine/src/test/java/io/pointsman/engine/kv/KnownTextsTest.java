package io.pointsman.engine.kv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The known token ids of texts after engines have rendered some of them. */
final class KnownTextsTest {
  private static final int BLOCK = TokenIds.PER_BLOCK;

  /** Ids that end every prompt and occur nowhere else. */
  private static final int TAIL = 3;

  private final FakeClock clock = new FakeClock();
  private final KnownTexts texts = new KnownTexts(1 << 20, clock::nanos);

  /** The routing key of messages, one block of text each. */
  private static PrefixBlocks text(int... messages) {
    long[] pieces = Arrays.stream(messages).mapToLong(m -> PrefixBlocks.mix(m)).toArray();
    int length = messages.length * 64;
    return PrefixBlocks.chain(7, pieces, messages.length, length, 64, length / 4);
  }

  private static long end(int... messages) {
    return text(messages).whole();
  }

  /** The rendered ids of messages: 50 each, and the tail. */
  private static int[] ids(int... messages) {
    IntStream content =
        Arrays.stream(messages).flatMap(m -> IntStream.range(0, 50).map(i -> m * 1000 + i));
    return IntStream.concat(content, IntStream.range(900_000, 900_000 + TAIL)).toArray();
  }

  private void learn(int... messages) {
    texts.learnMessages(text(messages), end(messages[0]), ids(messages));
  }

  private static long[] blocksOf(int[] ids, int blocks) {
    return Arrays.copyOf(TokenIds.key(0, ids, blocks * BLOCK, ids.length).hashes(), blocks);
  }

  private @Nullable PrefixBlocks known(int... messages) {
    return texts.of(text(messages));
  }

  private static long[] hashes(@Nullable PrefixBlocks key) {
    PrefixBlocks known = Objects.requireNonNull(key);
    return Arrays.copyOf(known.hashes(), known.count());
  }

  @Test
  void samePromptIsKnownCompletely() {
    learn(1, 2);
    PrefixBlocks key = Objects.requireNonNull(known(1, 2));
    assertThat(hashes(key)).isEqualTo(blocksOf(ids(1, 2), 6));
    assertThat(key.tokens()).isEqualTo(100 + TAIL);
    assertThat(key.tokenIds()).isTrue();
    assertThat(key.base()).isEqualTo(TokenIds.key(0, ids(1, 2), 16, 16).base());
    assertThat(texts.knows(text(1, 2))).isTrue();
    assertThat(texts.wholes()).isEqualTo(1);
  }

  @Test
  void observersFindTheSameAndAreNotCounted() {
    learn(1, 2);
    for (int[] messages : new int[][] {{1, 2}, {1, 2, 3}, {9}}) {
      PrefixBlocks known = known(messages);
      PrefixBlocks seen = texts.unseen().of(text(messages));
      assertThat(seen == null).isEqualTo(known == null);
      if (seen != null) {
        assertThat(hashes(seen)).isEqualTo(hashes(known));
        assertThat(seen.tokens()).isEqualTo(Objects.requireNonNull(known).tokens());
      }
    }
    assertThat(texts.wholes()).isEqualTo(1);
    assertThat(texts.parts()).isEqualTo(1);
    assertThat(texts.unknown()).isEqualTo(1);
  }

  @Test
  void nextTurnIsKnownUpToThePreviousTurn() {
    learn(1, 2);
    PrefixBlocks key = Objects.requireNonNull(known(1, 2, 3, 4));
    assertThat(hashes(key)).isEqualTo(blocksOf(ids(1, 2, 3, 4), 6));
    assertThat(key.length()).isEqualTo(6 * BLOCK);
    assertThat(key.tokens()).isEqualTo(100 + TAIL + 2 * 64 / 4);
    assertThat(texts.knows(text(1, 2, 3, 4))).isFalse();
    assertThat(texts.parts()).isEqualTo(1);
  }

  @Test
  void endOfAPromptIsCorrectedByItsContinuations() {
    // 64 ids: the tail of a prompt that ends here would be in its last full block.
    int[] first = IntStream.range(0, 64).toArray();
    int[] longer = IntStream.concat(IntStream.range(0, 61), IntStream.range(500, 600)).toArray();
    texts.learnMessages(text(1), 0, first);
    assertThat(hashes(known(1, 2, 3))).hasSize(4);
    texts.learnMessages(text(1, 2), 0, longer);
    assertThat(hashes(known(1, 9))).isEqualTo(blocksOf(longer, 3));
  }

  @Test
  void sharedBeginningIsTheCommonPartOfTwoPrompts() {
    learn(1, 2);
    assertThat(known(1, 5)).isNull();
    learn(1, 3);
    assertThat(hashes(known(1, 5))).isEqualTo(blocksOf(ids(1), 3));
    assertThat(known(6, 5)).isNull();
  }

  @Test
  void sharedBeginningIsNotLearnedFromTurnsOfOneConversation() {
    learn(1, 2);
    learn(1, 2, 3, 4);
    assertThat(known(1, 5)).isNull();
  }

  @Test
  void longerTextSharesTheCertainIdsOfFullBlocks() {
    int[] ids = IntStream.range(0, 200).toArray();
    long[] pieces = {11, 12, 13};
    PrefixBlocks text = PrefixBlocks.chain(7, pieces, 3, 2 * 64 + 10, 64, 34);
    texts.learnText(text, ids);
    long[] more = {11, 12, 99, 98};
    PrefixBlocks key = texts.of(PrefixBlocks.chain(7, more, 4, 4 * 64, 64, 64));
    // Of 200 ids, 11 may belong to the incomplete block.
    assertThat(hashes(key)).isEqualTo(blocksOf(ids, 189 / BLOCK));
  }

  @Test
  void otherModelOrTemplateMatchesNothing() {
    learn(1, 2);
    long[] pieces = {PrefixBlocks.mix(1), PrefixBlocks.mix(2)};
    assertThat(texts.of(PrefixBlocks.chain(8, pieces, 2, 128, 64, 32))).isNull();
    assertThat(texts.unknown()).isEqualTo(1);
  }

  @Test
  void nothingIsValidForLongerThanAnHour() {
    learn(1, 2);
    clock.advance(Duration.ofMinutes(59));
    assertThat(known(1, 2)).isNotNull();
    clock.advance(Duration.ofMinutes(2));
    assertThat(known(1, 2)).isNull();
    assertThat(texts.knows(text(1, 2))).isFalse();
    learn(1, 2);
    assertThat(known(1, 2)).isNotNull();
  }

  @Test
  void memoryStaysWithinItsBoundAndUsedEntriesStayLongest() {
    learn(1, 2);
    for (int i = 10; i < 3000; i++) {
      int[] ids = new int[2000];
      Arrays.fill(ids, i);
      texts.learnMessages(text(i, i + 1), 0, ids);
      assertThat(texts.bytes()).isLessThanOrEqualTo(texts.maxBytes());
      assertThat(texts.of(text(i, i + 1))).isNotNull();
      assertThat(known(1, 2)).as("used after %s others", i).isNotNull();
    }
    assertThat(known(10, 11)).isNull();
  }

  @Test
  void promptLargerThanTheBoundIsNotKept() {
    int[] ids = new int[4_000_000];
    texts.learnMessages(text(1), 0, ids);
    assertThat(texts.bytes()).isLessThanOrEqualTo(texts.maxBytes());
    assertThat(known(1)).isNull();
  }

  @Test
  void lessThanTheLeastMemoryIsRefused() {
    assertThatThrownBy(() -> new KnownTexts(1, clock::nanos))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("maxBytes");
  }
}
