package io.pointsman.engine.kv;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;

/** The index compared with maps of blocks under random events. */
class KvIndexProperties {
  private static final int WORKERS = 7;
  private static final int[] SIZES = {1, 4, 16, 32, 48};

  /** Most blocks are on the device. */
  private static final List<KvTier> TIERS =
      List.of(
          KvTier.DEVICE,
          KvTier.DEVICE,
          KvTier.DEVICE,
          KvTier.DEVICE,
          KvTier.HOST,
          KvTier.DISK,
          KvTier.EXTERNAL);

  private static final KvCredits CREDITS = KvCredits.DEFAULTS;

  /** One block as a source holds it. */
  private static final class Block {
    final Set<KvTier> tiers = EnumSet.noneOf(KvTier.class);

    /** Copies on the device; on other tiers a block is present or absent. */
    int copies;

    @Nullable Block parent;
    boolean known;
  }

  /** A simple model of one source. */
  private static final class Source {
    final Map<Long, Block> blocks = new HashMap<>();
    boolean live;

    void store(KvEvent.Stored event) {
      Block parent = event.parent() == null ? null : blocks.get(event.parent());
      boolean known = event.parent() == null || (parent != null && parent.known);
      for (long id : event.blocks()) {
        Block block = blocks.computeIfAbsent(id, _ -> new Block());
        if (known && !block.known) {
          block.known = true;
          block.parent = parent;
        }
        block.tiers.add(event.tier());
        block.copies += event.tier() == KvTier.DEVICE ? 1 : 0;
        known &= block.known;
        parent = block;
      }
    }

    void remove(KvEvent.Removed event) {
      for (long id : event.blocks()) {
        Block block = blocks.get(id);
        if (block != null) {
          boolean counts = event.tier() == KvTier.DEVICE && block.copies > 0;
          block.copies -= counts ? 1 : 0;
          if (!counts || block.copies == 0) {
            block.tiers.remove(event.tier());
            prune();
          }
        }
      }
    }

    /** Removes blocks without tiers, unless others depend on them. */
    private void prune() {
      boolean changed = true;
      while (changed) {
        changed =
            blocks
                .values()
                .removeIf(
                    block ->
                        block.tiers.isEmpty()
                            && blocks.values().stream().noneMatch(b -> b.parent == block));
      }
    }

    boolean on(long id, KvTier tier) {
      Block block = blocks.get(id);
      return block != null && block.known && block.tiers.contains(tier);
    }
  }

  private final TestFleet fleet = TestFleet.of(WORKERS);
  private final KvIndex index = new KvIndex(16 << 20, 64, fleet.clock::nanos);
  private final Map<List<Integer>, Source> model = new LinkedHashMap<>();
  private boolean adapterSeen;

  @Property(tries = 150)
  void agreesWithTheModelAfterEveryEvent(
      @ForAll @IntRange(min = 0, max = 4) int size, @ForAll long seed) {
    new KvIndexProperties().run(SIZES[size], new SplittableRandom(seed));
  }

  /** Cases found at random: blocks of 32 tokens that diverge in their second half. */
  @Example
  void siblingsShareTheHashesBeforeTheirDivergence() {
    for (long seed : new long[] {-3083, -3007, 145, 5547}) {
      new KvIndexProperties().run(32, new SplittableRandom(seed));
    }
  }

  private void run(int blockSize, SplittableRandom random) {
    Announcer engine = new Announcer(blockSize, 3);
    for (int i = 0; i < 60; i++) {
      Worker worker = fleet.worker(random.nextInt(WORKERS));
      int rank = random.nextInt(8) == 0 ? 1 : 0;
      Source source = model.computeIfAbsent(List.of(worker.slot(), rank), _ -> new Source());
      change(worker, rank, source, engine, random);
      if (random.nextInt(8) == 0) {
        index.resize((8L + random.nextInt(8)) << 20);
      }
      for (int n = 0; n < 3; n++) {
        check(prompt(random), random.nextInt(3) == 0 ? "lora" : null, engine, blockSize);
      }
    }
    assertThat(index.refused()).isZero();
  }

  /** Prompts over few tokens that often diverge, in steps of a few blocks. */
  private static int[] prompt(SplittableRandom random) {
    int[] ids = new int[48 * (1 + random.nextInt(7)) + random.nextInt(2)];
    int token = 0;
    for (int i = 0; i < ids.length; i++) {
      token = i % 48 == 0 ? random.nextInt(2) : token;
      ids[i] = token;
    }
    return ids;
  }

  private void change(
      Worker worker, int rank, Source source, Announcer engine, SplittableRandom random) {
    int[] prompt = prompt(random);
    String adapter = random.nextInt(4) == 0 ? "lora" : null;
    KvTier tier = TIERS.get(random.nextInt(TIERS.size()));
    switch (random.nextInt(20)) {
      case 0 -> {
        index.reset(worker, rank, KvFeed.Cause.MISSED);
        source.blocks.clear();
      }
      case 1 -> {
        index.apply(worker, rank, List.of(new KvEvent.Cleared()));
        source.blocks.clear();
      }
      case 2, 3, 4, 5, 6, 7 -> {
        List<Long> held = new ArrayList<>(source.blocks.keySet());
        long[] gone = new long[random.nextInt(4)];
        for (int i = 0; i < gone.length; i++) {
          gone[i] = held.isEmpty() ? random.nextLong() : held.get(random.nextInt(held.size()));
        }
        KvEvent.Removed removed = new KvEvent.Removed(gone, tier);
        index.apply(worker, rank, List.of(removed));
        source.remove(removed);
      }
      default -> {
        int blocks = engine.ids(adapter, prompt, 0).length;
        int from = random.nextInt(3) == 0 ? random.nextInt(blocks) : 0;
        KvEvent.Stored stored = (KvEvent.Stored) engine.stored(adapter, prompt, from, tier);
        index.apply(worker, rank, List.of(stored));
        adapterSeen |= adapter != null;
        source.store(stored);
      }
    }
    boolean live = random.nextInt(10) > 0;
    index.live(worker, rank, live);
    source.live = live;
  }

  private void check(int[] ids, @Nullable String adapter, Announcer engine, int blockSize) {
    KvHits hits = index.hits(key(ids), adapter);
    // An adapter that was never announced counts as another name of the base model.
    String named = adapterSeen ? adapter : null;
    for (int w = 0; w < WORKERS; w++) {
      Worker worker = fleet.worker(w);
      int device = 0;
      double credit = 0;
      for (int rank = 0; rank < 2; rank++) {
        Source source = model.get(List.of(worker.slot(), rank));
        if (source != null && source.live) {
          device = Math.max(device, device(source, named, ids, engine, blockSize));
          if (blockSize == TokenIds.PER_BLOCK) {
            credit = Math.max(credit, credit(source, named, ids, engine));
          }
        }
      }
      assertThat(hits.device(worker.slot())).as("blocks of %s", worker).isEqualTo(device);
      if (blockSize == TokenIds.PER_BLOCK) {
        assertThat(hits.credit(worker.slot(), CREDITS)).isEqualTo(Math.min(credit, ids.length - 1));
      }
    }
  }

  private static PrefixBlocks key(int... ids) {
    return TokenIds.key(5, ids, ids.length, ids.length);
  }

  private static int device(
      Source source, @Nullable String adapter, int[] ids, Announcer engine, int blockSize) {
    int blocks = 0;
    while ((blocks + 1) * blockSize <= ids.length
        && source.on(engine.id(adapter, ids, blocks + 1), KvTier.DEVICE)) {
      blocks++;
    }
    int tokens = Math.min(blocks * blockSize, (ids.length - 1) / 16 * 16) / 16 * 16;
    int whole = blockSize > 16 ? tokens / blockSize * blockSize : tokens;
    return whole / 16;
  }

  private static double credit(
      Source source, @Nullable String adapter, int[] ids, Announcer engine) {
    int device = device(source, adapter, ids, engine, TokenIds.PER_BLOCK);
    double best = device;
    int longest = 0;
    for (KvTier tier : List.of(KvTier.HOST, KvTier.EXTERNAL, KvTier.DISK)) {
      int end = device;
      while (end < (ids.length - 1) / 16 && source.on(engine.id(adapter, ids, end + 1), tier)) {
        end++;
      }
      if (end - device > longest) {
        longest = end - device;
        best = device + longest * CREDITS.of(tier);
      }
    }
    return best * 16;
  }
}
