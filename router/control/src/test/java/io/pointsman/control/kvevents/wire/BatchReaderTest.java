package io.pointsman.control.kvevents.wire;

import static io.pointsman.control.kvevents.wire.Msgpack.list;
import static io.pointsman.control.kvevents.wire.Msgpack.pack;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvTier;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BatchReaderTest {
  private static final int MOST = 4096;
  private static final int[] FOUR = {1, 2, 3, 4};

  private static EventBatch read(@Nullable Object batch) throws MalformedBatch {
    return BatchReader.read(pack(batch), MOST);
  }

  private static KvEvent.Stored stored(@Nullable Object event) throws MalformedBatch {
    return (KvEvent.Stored) read(list(1.0, list(event))).events().getFirst();
  }

  private static Map<String, @Nullable Object> map(Object hashes, int[] tokens) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    map.put("block_hashes", hashes);
    map.put("parent_block_hash", null);
    map.put("token_ids", tokens);
    map.put("block_size", 2);
    map.put("type", "BlockStored");
    return map;
  }

  private static Map<String, @Nullable Object> with(
      Map<String, @Nullable Object> map, String name, @Nullable Object value) {
    map.put(name, value);
    return map;
  }

  @Test
  void sglangsFirstFormatHasFivePositionsAndNoRank() throws MalformedBatch {
    EventBatch batch = read(list(12.5, list(list("BlockStored", list(7, -8), 6, FOUR, 2, null))));

    assertThat(batch.seconds()).isEqualTo(12.5);
    assertThat(batch.rank()).isEqualTo(EventBatch.NO_RANK);
    KvEvent.Stored stored = (KvEvent.Stored) batch.events().getFirst();
    assertThat(stored.blocks()).containsExactly(7, -8);
    assertThat(stored.parent()).isEqualTo(6);
    assertThat(stored.tokens()).containsExactly(FOUR);
    assertThat(stored.blockSize()).isEqualTo(2);
    assertThat(stored.tier()).isEqualTo(KvTier.DEVICE);
    assertThat(stored.adapter()).isNull();
    assertThat(stored.plain()).isTrue();
  }

  @Test
  void blocksNamedOnlyByTheirTokensMatchNoPrompt() throws MalformedBatch {
    // hash((1, 2, 3, 4)) in Python.
    long named = 590899387183067792L;
    EventBatch batch = read(list(1.0, list(list("BlockStored", list(named), null, FOUR, 4, null))));

    assertThat(batch.positionless()).isTrue();
    KvEvent.Stored stored = (KvEvent.Stored) batch.events().getFirst();
    assertThat(stored.plain()).isFalse();
    assertThat(stored.blocks()).containsExactly(named);
    assertThat(stored.blockSize()).isEqualTo(4);
    Object other = list("BlockStored", list(named + 1), null, FOUR, 4, null);
    assertThat(read(list(1.0, list(other))).positionless()).isFalse();
    assertThat(stored(other).plain()).isTrue();
  }

  @Test
  void vllmsArraysAndMapsAreEquivalent() throws MalformedBatch {
    Object array =
        list(
            "BlockStored",
            list(7, 8),
            null,
            FOUR,
            2,
            3,
            "CPU",
            "polite",
            list(list("polite"), list("polite")),
            0,
            "full_attention",
            null,
            "LOCAL");
    Map<String, @Nullable Object> map = map(list(7, 8), FOUR);
    with(map, "lora_id", 3);
    with(map, "lora_name", "polite");
    with(map, "medium", "CPU");
    with(map, "extra_keys", list(list("polite"), list("polite")));
    with(map, "kv_cache_spec_kind", "full_attention");
    with(map, "session_id", "s");

    for (Object event : List.of(array, map)) {
      KvEvent.Stored stored = stored(event);
      assertThat(stored.blocks()).containsExactly(7, 8);
      assertThat(stored.tokens()).containsExactly(FOUR);
      assertThat(stored.tier()).isEqualTo(KvTier.HOST);
      assertThat(stored.adapter()).isEqualTo("polite");
      assertThat(stored.plain()).isTrue();
    }
  }

  @Test
  void theBatchCanBeAMap() throws MalformedBatch {
    Map<String, @Nullable Object> batch = new LinkedHashMap<>();
    batch.put("data_parallel_rank", 3);
    batch.put("unknown", list(list(list(1))));
    batch.put("events", list(Map.of("type", "AllBlocksCleared")));
    batch.put("ts", 5);

    EventBatch read = read(batch);
    assertThat(read.rank()).isEqualTo(3);
    assertThat(read.seconds()).isEqualTo(5);
    assertThat(read.events()).containsExactly(new KvEvent.Cleared());
  }

  @Test
  void hashesMayBeBytesOrNumbersOfSixtyFourBits() throws MalformedBatch {
    byte[] small = {1, 0};
    byte[] digest = new byte[32];
    Arrays.fill(digest, (byte) 9);
    byte[] other = digest.clone();
    other[0] = 8;
    BigInteger unsigned = BigInteger.TWO.pow(64).subtract(BigInteger.TWO);
    KvEvent.Removed removed =
        (KvEvent.Removed)
            read(list(1.0, list(list("BlockRemoved", list(small, digest, other, unsigned)))))
                .events()
                .getFirst();

    assertThat(removed.blocks()).startsWith(256).endsWith(-2).doesNotHaveDuplicates().hasSize(4);
    assertThat(stored(map(list(digest, other), FOUR)).blocks())
        .containsExactly(removed.blocks()[1], removed.blocks()[2]);
  }

  @ParameterizedTest
  @CsvSource({
    "GPU, , DEVICE",
    "cpu, , HOST",
    "CPU_PINNED, , HOST",
    "HOST_PINNED, , HOST",
    "STORAGE, LOCAL, DISK",
    "DISK, , DISK",
    "FS, , DISK",
    "CPU_TIER1, , HOST",
    "CPU_TIER2, , DISK",
    "OBJ, , EXTERNAL",
    "STORAGE, REMOTE, EXTERNAL",
    "EXTERNAL, , EXTERNAL",
    "something, , DEVICE"
  })
  void mediaBecomeTiers(String medium, @Nullable String locality, KvTier tier)
      throws MalformedBatch {
    Map<String, @Nullable Object> map = map(list(7, 8), FOUR);
    with(map, "medium", medium);
    with(map, "locality", locality);
    assertThat(stored(map).tier()).isEqualTo(tier);
  }

  @Test
  void blocksOnAnotherTierHaveNoTokens() throws MalformedBatch {
    KvEvent.Stored stored =
        stored(list("BlockStored", list(7, 8), null, list(), 0, null, "CPU", null));
    assertThat(stored.blocks()).containsExactly(7, 8);
    assertThat(stored.tokens()).isEmpty();
    assertThat(stored.plain()).isTrue();
  }

  @Test
  void aSaltMakesABlockAndLaterOnesMatchNothing() throws MalformedBatch {
    Map<String, @Nullable Object> map = map(list(7, 8, 9), new int[] {1, 2, 3, 4, 5, 6});
    List<KvEvent> events =
        read(list(1.0, list(with(map, "extra_keys", list(null, list("salt"), null))))).events();

    KvEvent.Stored before = (KvEvent.Stored) events.getFirst();
    KvEvent.Stored behind = (KvEvent.Stored) events.getLast();
    assertThat(events).hasSize(2);
    assertThat(before.blocks()).containsExactly(7);
    assertThat(before.tokens()).containsExactly(1, 2);
    assertThat(before.plain()).isTrue();
    assertThat(behind.blocks()).containsExactly(8, 9);
    assertThat(behind.parent()).isEqualTo(7);
    assertThat(behind.plain()).isFalse();
  }

  @Test
  void blocksThatDependOnMoreThanTokensAndAdapterAreNotPlain() throws MalformedBatch {
    assertThat(stored(with(map(list(7, 8), FOUR), "cache_salt", "x")).plain()).isFalse();
    assertThat(stored(with(map(list(7, 8), FOUR), "group_idx", 1)).plain()).isFalse();
    assertThat(stored(with(map(list(7, 8), FOUR), "kv_cache_spec_kind", "mamba")).plain())
        .isFalse();
    assertThat(stored(with(map(list(7, 8), FOUR), "kv_cache_spec_sliding_window", 512)).plain())
        .isFalse();
    assertThat(stored(with(map(list(7, 8), FOUR), "lora_id", 4)).plain()).isFalse();
    assertThat(stored(with(map(list(7, 8), FOUR), "lora_id", 0)).plain()).isTrue();
    Object image = list(list(list("image", 3)), null);
    assertThat(stored(with(map(list(7, 8), FOUR), "extra_keys", image)).plain()).isFalse();
    Object two = list(list("polite", "salt"), list("polite"));
    Map<String, @Nullable Object> salted = with(map(list(7, 8), FOUR), "lora_name", "polite");
    assertThat(stored(with(salted, "extra_keys", two)).plain()).isFalse();
    assertThat(stored(list("BlockStored", list(7), null, list(1, 2), 2, null, "GPU", "salt")))
        .returns(false, KvEvent.Stored::plain);
    assertThat(
            stored(
                list(
                    "BlockStored",
                    list(7),
                    null,
                    list(1, 2),
                    2,
                    null,
                    "GPU",
                    Map.of("cache_salt", "x"))))
        .returns(false, KvEvent.Stored::plain);
    assertThat(stored(list("BlockStored", list(7), null, list(list(1, 2), list(2, 3)), 2, null)))
        .returns(false, KvEvent.Stored::plain);
  }

  @Test
  void groupsHaveSeparateIds() throws MalformedBatch {
    KvEvent.Stored stored = stored(with(map(list(7, 8), new int[] {1}), "group_idx", 1));
    Map<String, @Nullable Object> removal = new LinkedHashMap<>();
    removal.put("type", "BlockRemoved");
    removal.put("block_hashes", list(7, 8));
    removal.put("group_idx", 1);
    KvEvent.Removed removed = (KvEvent.Removed) read(list(1.0, list(removal))).events().getFirst();

    assertThat(removed.blocks()).containsExactly(stored.blocks());
    assertThat(removed.blocks()).doesNotContain(7, 8);
  }

  @Test
  void unknownKindsAndMembersAreSkipped() throws MalformedBatch {
    EventBatch batch =
        read(
            list(
                1.0,
                list(
                    list("BlockMoved", 1, list(2), Map.of("a", list())),
                    Map.of("type", "BlockPraised", "by", list(1)),
                    list("AllBlocksCleared", "with", "more")),
                0,
                "later"));
    assertThat(batch.passedOver()).isEqualTo(2);
    assertThat(batch.events()).containsExactly(new KvEvent.Cleared());
  }

  @Test
  void eventsWithoutBlocksAreEmpty() throws MalformedBatch {
    assertThat(read(list(1.0, list(map(list(), new int[0])))).events()).isEmpty();
  }

  @Test
  void deepNestingIsSkipped() throws MalformedBatch {
    Object deep = list();
    for (int i = 0; i < 1000; i++) {
      deep = list(deep);
    }
    assertThat(stored(with(map(list(7, 8), FOUR), "later", deep)).plain()).isTrue();
  }

  @Test
  void invalidBatchesAreRefused() {
    assertThatThrownBy(() -> read(null)).isInstanceOf(MalformedBatch.class);
    assertThatThrownBy(() -> read(list(1.0))).isInstanceOf(MalformedBatch.class);
    assertThatThrownBy(() -> read(list("now", list()))).isInstanceOf(MalformedBatch.class);
    assertThatThrownBy(() -> read(list(1.0, list(), -2))).isInstanceOf(MalformedBatch.class);
    assertThatThrownBy(() -> read(list(1.0, list(list("BlockStored")))))
        .isInstanceOf(MalformedBatch.class);
    assertThatThrownBy(() -> read(list(1.0, list(list("BlockRemoved", list("a", null))))))
        .isInstanceOf(MalformedBatch.class);
    assertThatThrownBy(() -> stored(map(list(7), FOUR)))
        .isInstanceOf(MalformedBatch.class)
        .hasMessageContaining("token_ids");
    assertThatThrownBy(() -> BatchReader.read(new byte[0], MOST))
        .isInstanceOf(MalformedBatch.class);
    byte[] more = Arrays.copyOf(pack(list(1.0, list())), 20);
    assertThatThrownBy(() -> BatchReader.read(more, MOST)).isInstanceOf(MalformedBatch.class);
  }

  @Test
  void tooManyEventsAreRefused() throws MalformedBatch {
    byte[] three = pack(list(1.0, list(list("x"), list("x"), list("x"))));
    assertThat(BatchReader.read(three, 3).passedOver()).isEqualTo(3);
    assertThatThrownBy(() -> BatchReader.read(three, 2))
        .isInstanceOf(MalformedBatch.class)
        .hasMessageContaining("at most 2");
  }

  @Test
  void falseLengthsCostNoMemory() {
    byte[] claims = {(byte) 0x92, 1, (byte) 0xdd, 0x7f, (byte) 0xff, (byte) 0xff, (byte) 0xff};
    assertThatThrownBy(() -> BatchReader.read(claims, Integer.MAX_VALUE))
        .isInstanceOf(MalformedBatch.class)
        .hasMessageContaining("end within it");
  }
}
