package io.pointsman.engine.kv;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Lookups of prompts in an index that has dropped claims before others. */
class KvHitsProperties {
  private static final int WORKERS = 5;

  /** Large blocks, so the index overflows before the sources do. */
  private static final int SIZE = 4096;

  private static final int PER_BLOCK = SIZE / TokenIds.PER_BLOCK;

  private final TestFleet fleet = TestFleet.of(WORKERS + 1);
  private final KvIndex index = new KvIndex(1 << 20, 64, fleet.clock::nanos);
  private final Announcer engine = new Announcer(SIZE, 3);

  private KvHitsProperties overflown() {
    Worker filler = fleet.worker(WORKERS);
    for (int n = 0; !index.index().evicting(); n++) {
      assertThat(n).isLessThan(128);
      index.apply(filler, 0, List.of(engine.stored(Announcer.prompt(1000 + n, SIZE))));
    }
    index.forget(filler);
    // Earlier claims are older than new ones, so they are dropped first.
    fleet.clock.advance(Duration.ofMinutes(1));
    return this;
  }

  @Property(tries = 40)
  void droppedClaimsDoNotHideLongerPrefixesOrAddHits(
      @ForAll @IntRange(min = 1, max = 6) int blocks, @ForAll long seed) {
    new KvHitsProperties().overflown().check(blocks, new SplittableRandom(seed));
  }

  private void check(int blocks, SplittableRandom random) {
    int[] prompt = Announcer.prompt(random.nextInt(100), blocks * SIZE + 1);
    int[] held = new int[WORKERS];
    for (int w = 0; w < WORKERS; w++) {
      held[w] = random.nextInt(blocks + 1);
      index.live(fleet.worker(w), 0, true);
      if (held[w] > 0) {
        int[] part = Arrays.copyOf(prompt, held[w] * SIZE);
        index.apply(fleet.worker(w), 0, List.of(engine.stored(part)));
      }
    }
    PrefixBlocks key = TokenIds.key(0, prompt, prompt.length, prompt.length);
    int longest = Arrays.stream(held).max().orElse(0) * PER_BLOCK;
    drop(key, longest / 2 - 1, random);
    KvHits hits = index.hits(key, TestFleet.MODEL);
    for (int w = 0; w < WORKERS; w++) {
      int truth = held[w] * PER_BLOCK;
      int found = hits.device(fleet.worker(w).slot());
      assertThat(found).as("worker %s of %s", w, Arrays.toString(held)).isBetween(0, truth);
      if (truth == longest && whole(key, fleet.worker(w), longest / 2, longest)) {
        assertThat(found).as("longest, of %s", Arrays.toString(held)).isEqualTo(truth);
      }
    }
  }

  /** Returns true if none of these claims was displaced in its bucket. */
  private boolean whole(PrefixBlocks key, Worker worker, int from, int to) {
    return IntStream.range(Math.max(0, from - 1), to)
        .allMatch(block -> index.index().holds(key.hashes()[block], worker.slot()));
  }

  /** Removes claims on the first blocks: often block 0, others at random. */
  private void drop(PrefixBlocks key, int end, SplittableRandom random) {
    BlockIndex claims = index.index();
    int share = random.nextInt(1, 10);
    for (int block = 0; block < end; block++) {
      boolean first = block == 0 && random.nextBoolean();
      for (int w = 0; w < WORKERS; w++) {
        if (first || random.nextInt(10) < share) {
          claims.remove(key.hashes()[block], claims.epoch(fleet.worker(w).slot()));
        }
      }
    }
  }
}
