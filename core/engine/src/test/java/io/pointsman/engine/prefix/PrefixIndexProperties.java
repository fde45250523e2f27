package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.Size;

/** The index compared with a map of sets without eviction. */
class PrefixIndexProperties {
  private static final int SLOTS = 40;
  private static final long SECOND = 1_000_000_000L;

  @Property(tries = 300)
  void belowTheBoundItAgreesWithTheModel(
      @ForAll("changes") @Size(min = 1, max = 120) List<Change> changes) {
    PrefixIndex index = new PrefixIndex(4 << 20, SLOTS);
    Model model = new Model();
    long now = 0;
    for (Change change : changes) {
      apply(change, index, model, now);
      now += SECOND / 3;
      int matched = index.match(change.prompt);
      assertThat(matched).isEqualTo(model.match(change.prompt));
      if (matched > 0) {
        long hash = change.prompt.hashes()[matched - 1];
        assertThat(holders(index, change.prompt, matched)).isEqualTo(model.holders(hash));
      }
    }
    assertThat(index.evictions()).isZero();
  }

  @Property(tries = 20)
  void aboveTheBoundItContainsOnlyAddedClaims(
      @ForAll("changes") @Size(min = 200, max = 400) List<Change> changes) {
    PrefixIndex index = new PrefixIndex(64 << 10, SLOTS);
    Model model = new Model();
    long now = 0;
    int members = 0;
    for (Change change : changes) {
      PrefixBlocks filler = Prompts.prompt(change.slot % 3, 20, members++, 120);
      index.add(filler, index.epoch(change.slot), 0, now);
      model.add(filler, change.slot);
      apply(change, index, model, now);
      now += SECOND / 3;
      assertThat(index.bytes()).isLessThanOrEqualTo(index.maxBytes());
      for (PrefixBlocks prompt : List.of(filler, change.prompt)) {
        assertThat(index.match(prompt)).isLessThanOrEqualTo(model.match(prompt));
        for (int i = 0; i < prompt.count(); i++) {
          long hash = prompt.hashes()[i];
          assertThat(model.holders(hash)).containsAll(holders(index, prompt, i + 1));
        }
      }
    }
    assertThat(index.evictions()).isPositive();
  }

  @Property(tries = 100)
  void forgettingAllWorkersLeavesNothing(
      @ForAll("changes") @Size(min = 1, max = 100) List<Change> changes) {
    PrefixIndex index = new PrefixIndex(1 << 20, SLOTS);
    for (Change change : changes) {
      index.add(change.prompt, index.epoch(change.slot), 0, 0);
    }
    for (int slot = 0; slot < SLOTS; slot++) {
      index.forget(slot);
    }
    for (Change change : changes) {
      assertThat(index.match(change.prompt)).isZero();
      for (int i = 0; i < change.prompt.count(); i++) {
        assertThat(holders(index, change.prompt, i + 1)).isEmpty();
      }
    }
  }

  private static void apply(Change change, PrefixIndex index, Model model, long now) {
    if (change.forget) {
      index.forget(change.slot);
      model.forget(change.slot);
    } else {
      int known = change.known ? model.known(change.prompt, change.slot) : 0;
      index.add(change.prompt, index.epoch(change.slot), known, now);
      model.add(change.prompt, change.slot);
    }
  }

  /** Prompts of four families, so some prefixes have many holders and others few. */
  @Provide
  Arbitrary<List<Change>> changes() {
    Arbitrary<PrefixBlocks> prompts =
        Combinators.combine(
                Arbitraries.longs().between(1, 4),
                Arbitraries.integers().between(0, 150),
                Arbitraries.longs().between(1, 6),
                Arbitraries.integers().between(0, 200))
            .as(Prompts::prompt);
    return Combinators.combine(
            prompts,
            Arbitraries.integers().between(0, SLOTS - 1),
            Arbitraries.of(true, false),
            Arbitraries.integers().between(0, 9).map(i -> i == 0))
        .as(Change::new)
        .list();
  }

  static Set<Integer> holders(PrefixIndex index, PrefixBlocks prompt, int length) {
    Set<Integer> slots = new HashSet<>();
    HolderBitmap bitmap = index.holderBitmap(prompt, length);
    for (int slot = 0; bitmap != null && slot < SLOTS; slot++) {
      if (bitmap.holds(slot)) {
        slots.add(slot);
      }
    }
    for (int h = index.holder(prompt, length, 0);
        h != PrefixIndex.NOBODY;
        h = index.holder(prompt, length, PrefixIndex.after(h))) {
      slots.add(PrefixIndex.slotOf(h));
    }
    return slots;
  }

  /**
   * @param known true if the worker's known blocks are passed
   * @param forget true if the worker leaves instead
   */
  record Change(PrefixBlocks prompt, int slot, boolean known, boolean forget) {}

  private static final class Model {
    private final Map<Long, Set<Integer>> holders = new HashMap<>();

    void add(PrefixBlocks prompt, int slot) {
      for (int blocks = 1; blocks <= prompt.count(); blocks++) {
        if (indexed(blocks, prompt)) {
          holders.computeIfAbsent(prompt.hashes()[blocks - 1], _ -> new HashSet<>()).add(slot);
        }
      }
    }

    void forget(int slot) {
      holders.values().forEach(slots -> slots.remove(slot));
    }

    int match(PrefixBlocks prompt) {
      int blocks = prompt.count();
      while (blocks > 0
          && (!indexed(blocks, prompt) || holders(prompt.hashes()[blocks - 1]).isEmpty())) {
        blocks--;
      }
      return blocks;
    }

    int known(PrefixBlocks prompt, int slot) {
      int blocks = match(prompt);
      return blocks > 0 && holders(prompt.hashes()[blocks - 1]).contains(slot) ? blocks : 0;
    }

    Set<Integer> holders(long hash) {
      return holders.getOrDefault(hash, Set.of());
    }

    private static boolean indexed(int blocks, PrefixBlocks prompt) {
      int milestones = IndexedLengths.upTo(blocks);
      return blocks == prompt.count() || IndexedLengths.blocks(milestones - 1) == blocks;
    }
  }
}
