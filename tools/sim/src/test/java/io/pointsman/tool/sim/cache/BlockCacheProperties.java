package io.pointsman.tool.sim.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.sim.cache.BlockCache.Reservation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.jspecify.annotations.Nullable;

class BlockCacheProperties {
  private static final int BLOCK = 3;
  private static final int CAPACITY = 12;

  @Property(tries = 1000)
  void cacheAgreesWithASimpleModelAndNeverExceedsItsCapacity(@ForAll("operations") List<Op> ops) {
    BlockCache cache = new BlockCache(CAPACITY, BLOCK);
    PlainModel model = new PlainModel();
    List<Reservation> held = new ArrayList<>();
    for (Op op : ops) {
      switch (op.kind()) {
        case RESERVE -> {
          int[] prompt = op.prompt().tokens();
          long total = (long) prompt.length + op.number();
          long[] hashes = BlockHashes.of(prompt, BLOCK, 0);
          Reservation reservation = cache.reserve(hashes, prompt.length, total);
          Integer cached = model.reserve(prompt, total);
          assertThat(reservation == null ? null : reservation.cachedTokens()).isEqualTo(cached);
          if (reservation != null) {
            held.add(reservation);
          }
        }
        case PUBLISH -> {
          if (!held.isEmpty()) {
            int index = op.number() % held.size();
            cache.publish(held.get(index), model.publish(index, op.prompt().length()));
          }
        }
        case RELEASE -> {
          if (!held.isEmpty()) {
            int index = op.number() % held.size();
            cache.release(held.remove(index));
            model.release(index);
          }
        }
      }
      assertThat(cache.pinnedBlocks()).isEqualTo(model.pinned());
      assertThat(cache.idleBlocks()).isEqualTo(model.idle.size());
      assertThat(cache.pinnedBlocks() + cache.idleBlocks()).isLessThanOrEqualTo(CAPACITY);
    }
  }

  @Provide
  Arbitrary<List<Op>> operations() {
    Arbitrary<Prompt> prompts =
        Combinators.combine(
                Arbitraries.integers().between(1, 2),
                Arbitraries.integers().between(0, 8),
                Arbitraries.integers().between(1, 20))
            .as(Prompt::new);
    return Combinators.combine(
            Arbitraries.of(Kind.class), prompts, Arbitraries.integers().between(0, 15))
        .as(Op::new)
        .list()
        .ofMaxSize(60);
  }

  enum Kind {
    RESERVE,
    PUBLISH,
    RELEASE
  }

  record Op(Kind kind, Prompt prompt, int number) {}

  /** A prompt of one of two families, which are equal up to {@code fork}. */
  record Prompt(int family, int fork, int length) {
    int[] tokens() {
      return IntStream.range(0, length).map(i -> i < fork ? i : family * 100 + i).toArray();
    }
  }

  /** The same rules, with prefixes as lists and linear searches. */
  private static final class PlainModel {
    final List<List<Integer>> idle = new ArrayList<>();
    final Map<List<Integer>, Integer> users = new LinkedHashMap<>();
    final List<Entry> held = new ArrayList<>();

    int pinned() {
      int privates = held.stream().mapToInt(entry -> entry.privates).sum();
      return users.size() + privates;
    }

    @Nullable Integer reserve(int[] prompt, long total) {
      List<List<Integer>> known = new ArrayList<>();
      for (int block = 1; block * BLOCK < prompt.length; block++) {
        List<Integer> prefix = prefix(prompt, block);
        if (!idle.contains(prefix) && !users.containsKey(prefix)) {
          break;
        }
        known.add(prefix);
      }
      int fresh = (int) ((total + BLOCK - 1) / BLOCK) - known.size();
      long woken = known.stream().filter(idle::contains).count();
      if (pinned() + woken + fresh > CAPACITY) {
        return null;
      }
      for (List<Integer> prefix : known) {
        idle.remove(prefix);
        users.merge(prefix, 1, Integer::sum);
      }
      while (pinned() + idle.size() + fresh > CAPACITY) {
        idle.removeFirst();
      }
      held.add(new Entry(prompt, known, fresh));
      return known.size() * BLOCK;
    }

    /** Publishes about {@code more} further tokens and returns the number computed then. */
    int publish(int index, int more) {
      Entry entry = held.get(index);
      entry.computed = Math.min(entry.prompt.length, Math.max(entry.computed, more));
      while ((entry.next + 1) * BLOCK <= entry.computed) {
        List<Integer> prefix = prefix(entry.prompt, ++entry.next);
        if (!idle.contains(prefix) && !users.containsKey(prefix)) {
          users.put(prefix, 1);
          entry.pins.add(prefix);
          entry.privates--;
        }
      }
      return entry.computed;
    }

    void release(int index) {
      Entry entry = held.remove(index);
      for (List<Integer> prefix : entry.pins.reversed()) {
        if (users.merge(prefix, -1, Integer::sum) == 0) {
          users.remove(prefix);
          idle.add(prefix);
        }
      }
    }

    private static List<Integer> prefix(int[] prompt, int blocks) {
      return Arrays.stream(prompt).limit((long) blocks * BLOCK).boxed().toList();
    }
  }

  private static final class Entry {
    final int[] prompt;
    final List<List<Integer>> pins;
    int privates;
    int next;
    int computed;

    Entry(int[] prompt, List<List<Integer>> known, int fresh) {
      this.prompt = prompt;
      this.pins = new ArrayList<>(known);
      this.privates = fresh;
      this.next = known.size();
    }
  }
}
