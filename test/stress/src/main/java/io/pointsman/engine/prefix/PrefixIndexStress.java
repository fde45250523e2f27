package io.pointsman.engine.prefix;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;

import io.pointsman.engine.env.LargePages;
import java.util.Arrays;
import java.util.BitSet;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.IZ_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.ZI_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * The prefix index. It is not linearizable: of two writes that collide, also of a removal and an
 * addition, one may be lost. These weaker rules hold:
 *
 * <ul>
 *   <li>A worker is found only for a prefix that was added for it, at any moment.
 *   <li>A departed worker is not found when the additions that were running have ended.
 *   <li>An addition of one prompt that collides with nothing but the same addition for another
 *       worker is found for one of both at once, and for both after the next addition.
 * </ul>
 */
public final class PrefixIndexStress {
  private static final long BYTES = 64 << 10;
  private static final int NOBODY = -1;
  private static final long LATER = 1L << 40;
  private static final PrefixBlocks PROMPT = prompt(8);
  private static final PrefixBlocks LONG_PROMPT = prompt(10);

  private PrefixIndexStress() {}

  private static PrefixBlocks prompt(int blocks) {
    long[] pieces = new long[blocks];
    Arrays.setAll(pieces, i -> PrefixBlocks.mix(i + 1L));
    return PrefixBlocks.chain(0, pieces, blocks, blocks * 16, 16, blocks * 16);
  }

  /** All lengths of {@link #PROMPT}. */
  private static final class AllLengths extends Lengths {
    AllLengths() {
      super(PROMPT.hashes().clone());
      become(PROMPT, 1);
    }
  }

  /** An index for two workers. */
  public abstract static class TwoWorkers {
    final PrefixIndex index = new PrefixIndex(BYTES, 2);

    /** Workers that hold a prefix, as bits. */
    int holders(PrefixBlocks prompt, int length) {
      BitSet slots = new BitSet();
      for (int found = index.holder(prompt, length, 0);
          found != PrefixIndex.NOBODY;
          found = index.holder(prompt, length, PrefixIndex.after(found))) {
        slots.set(PrefixIndex.slotOf(found));
      }
      return slots.isEmpty() ? 0 : (int) slots.toLongArray()[0];
    }

    /** Number of lengths from one on that the worker in slot 0 holds. */
    int cachedByFirst(PrefixBlocks prompt, int from) {
      int cached = 0;
      for (int length = from; length <= prompt.count(); length++) {
        cached += holders(prompt, length) & 1;
      }
      return cached;
    }
  }

  /** prefix.found-is-added: a reader finds the worker that is being added, or nobody. */
  @JCStressTest
  @Outcome(
      id = {"false, 0", "true, 1"},
      expect = ACCEPTABLE)
  @State
  public static class AdditionAndReader extends TwoWorkers {
    @Actor
    public void adds() {
      index.add(PROMPT, index.epoch(0), 0, 0);
    }

    @Actor
    public void reads(ZI_Result r) {
      int matched = index.match(PROMPT);
      r.r1 = matched > 0;
      r.r2 = matched > 0 ? holders(PROMPT, matched) : 0;
    }
  }

  /** prefix.found: of two equal prompts one is found at once, and both after the next addition. */
  @JCStressTest
  @Outcome(id = "8, 3", expect = ACCEPTABLE)
  @State
  public static class TwoAdditions extends TwoWorkers {
    @Actor
    public void first() {
      index.add(PROMPT, index.epoch(0), 0, 0);
    }

    @Actor
    public void second() {
      index.add(PROMPT, index.epoch(1), 0, 0);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = index.match(PROMPT);
      index.add(PROMPT, index.epoch(0), 0, LATER);
      r.r2 = holders(PROMPT, 8);
    }
  }

  /** prefix.departed-gone: a run and single entries of a worker that leaves are not found. */
  @JCStressTest
  @Outcome(id = "0", expect = ACCEPTABLE)
  @State
  public static class AdditionAndDeparture extends TwoWorkers {
    private final int epoch = index.epoch(0);

    @Actor
    public void adds() {
      index.add(LONG_PROMPT, epoch, 0, 0);
    }

    @Actor
    public void leaves() {
      index.forget(0);
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = index.match(LONG_PROMPT) + cachedByFirst(LONG_PROMPT, 1);
    }
  }

  /**
   * A removal of a run that collides with its renewal for the same worker may be lost. The run
   * stays until it is evicted or the worker leaves.
   */
  @JCStressTest
  @Outcome(id = "0", expect = ACCEPTABLE)
  @Outcome(id = "[1-4]", expect = ACCEPTABLE_INTERESTING)
  @State
  public static class RemovalAndRenewal extends TwoWorkers {
    private final AllLengths lengths = new AllLengths();

    public RemovalAndRenewal() {
      index.add(PROMPT, index.epoch(0), 0, 0);
    }

    @Actor
    public void removes() {
      index.remove(lengths, 0, 8, index.epoch(0));
    }

    @Actor
    public void renews() {
      index.add(PROMPT, 4, index.epoch(0), 0, LATER);
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = cachedByFirst(PROMPT, 5);
    }
  }

  /**
   * A removal that collides with an addition for another worker may be lost. The entries stay until
   * they are evicted or the worker leaves.
   */
  @JCStressTest
  @Outcome(id = "0, true", expect = ACCEPTABLE)
  @Outcome(id = "[1-8], true", expect = ACCEPTABLE_INTERESTING)
  @State
  public static class RemovalAndOtherAddition extends TwoWorkers {
    private final AllLengths lengths = new AllLengths();

    public RemovalAndOtherAddition() {
      index.add(PROMPT, index.epoch(0), 0, 0);
    }

    @Actor
    public void removes() {
      index.remove(lengths, 0, 8, index.epoch(0));
    }

    @Actor
    public void adds() {
      index.add(PROMPT, index.epoch(1), 0, LATER);
    }

    @Arbiter
    public void after(IZ_Result r) {
      r.r1 = cachedByFirst(PROMPT, 1);
      index.forget(0);
      r.r2 = cachedByFirst(PROMPT, 1) == 0;
    }
  }

  /** A full bucket of the claim table, in which two writers replace the same entry. */
  private static long colliding(int number) {
    return (long) number << 52 | 5;
  }

  /** prefix.no-mixture: two writers of one entry never give one the other's block. */
  @JCStressTest
  @Outcome(
      id = {"-1, -1", "0, -1", "-1, 1", "0, 1"},
      expect = ACCEPTABLE)
  @State
  public static class TwoClaimsInOneEntry {
    private final SlotEpochs epochs = new SlotEpochs(2);
    private final ClaimTable table = new ClaimTable(1 << 10, epochs, LargePages.NONE);

    public TwoClaimsInOneEntry() {
      for (int i = 2; i < 2 + ClaimTable.WAYS; i++) {
        table.put(colliding(i), epochs.of(i & 1), 0);
      }
    }

    private int owner(long hash) {
      long found = table.find(hash, 0);
      return found == -1 ? NOBODY : SlotEpochs.slotOf(ClaimTable.claimOf(found));
    }

    @Actor
    public void first() {
      table.put(colliding(0), epochs.of(0), 10);
    }

    @Actor
    public void second() {
      table.put(colliding(1), epochs.of(1), 10);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = owner(colliding(0));
      r.r2 = owner(colliding(1));
    }
  }

  /** A full set of the run table, in which two writers replace the least recently used rows. */
  public abstract static class FullSet {
    final SlotEpochs epochs = new SlotEpochs(2);
    final RunTable table = new RunTable(1 << 10, epochs, LargePages.NONE);
    final Group first = group(100);
    final Group second = group(200);

    FullSet() {
      for (int row = 0; row < 7; row++) {
        table.open(group(1 + row), epochs.of(1), row, new PrefixTally());
      }
    }

    static Group group(int number) {
      long[] hashes = new long[Group.LENGTHS];
      Arrays.setAll(hashes, i -> colliding(8 * number + i));
      return new Group(new PrefixBlocks(hashes, 8, 128, 16, 128), 8, 0);
    }

    int owner(Group group, int position) {
      int claim = table.holder(group.head(), position, group.hash(position));
      return claim == 0 ? NOBODY : SlotEpochs.slotOf(claim);
    }
  }

  /** prefix.no-mixture: two writers in one set never give one the other's run. */
  @JCStressTest
  @Outcome(
      id = {"-1, -1", "0, -1", "-1, 1", "0, 1"},
      expect = ACCEPTABLE)
  @State
  public static class TwoRunsInOneSet extends FullSet {
    @Actor
    public void first() {
      table.open(first, epochs.of(0), 10, new PrefixTally());
    }

    @Actor
    public void second(II_Result r) {
      table.open(second, epochs.of(1), 10, new PrefixTally());
      r.r1 = owner(first, 7);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r2 = owner(second, 7);
    }
  }

  /** prefix.no-mixture: a reader of a row that is being replaced finds the owner or nobody. */
  @JCStressTest
  @Outcome(
      id = {"-1, -1", "0, -1", "-1, 1"},
      expect = ACCEPTABLE)
  @State
  public static class ReplacementAndReader extends FullSet {
    @Actor
    public void replaces() {
      table.open(first, epochs.of(0), 10, new PrefixTally());
    }

    @Actor
    public void reads(II_Result r) {
      r.r1 = owner(first, 7);
      r.r2 = owner(group(1), 7);
    }
  }

  /**
   * A block that five workers hold, which makes them a holder bitmap, or four, which are almost
   * one.
   */
  public abstract static class SharedBlock {
    static final long HASH = 0x1234_5678_9ABC_DEF0L;
    final BlockIndex index;

    SharedBlock(int slots, int holders) {
      index = new BlockIndex(BYTES, slots);
      for (int slot = 0; slot < holders; slot++) {
        index.claim(HASH, index.epoch(slot), 0);
      }
    }
  }

  /** prefix.departed-gone: a worker that leaves while a holder bitmap is created is not in it. */
  @JCStressTest
  @Outcome(id = "false", expect = ACCEPTABLE)
  @State
  public static class CreationAndDeparture extends SharedBlock {
    public CreationAndDeparture() {
      super(8, 4);
    }

    @Actor
    public void claims() {
      index.claim(HASH, index.epoch(4), 0);
    }

    @Actor
    public void leaves() {
      index.forget(2);
    }

    @Arbiter
    public void after(Z_Result r) {
      r.r1 = index.holds(HASH, 2);
    }
  }

  /**
   * prefix.removed-gone: a removal also takes effect in a holder bitmap that is widened meanwhile.
   */
  @JCStressTest
  @Outcome(id = "false, true", expect = ACCEPTABLE)
  @State
  public static class WideningAndRemoval extends SharedBlock {
    public WideningAndRemoval() {
      super(700, 6);
    }

    @Actor
    public void widens() {
      index.claim(HASH, index.epoch(600), 0);
    }

    @Actor
    public void removes() {
      index.remove(HASH, index.epoch(1));
    }

    @Arbiter
    public void after(ZZ_Result r) {
      r.r1 = index.holds(HASH, 1);
      r.r2 = index.holds(HASH, 600);
    }
  }

  /**
   * prefix.departed-gone: a departed worker may be found in a holder bitmap while a late addition
   * for it runs, and not afterwards.
   */
  @JCStressTest
  @Outcome(id = "false, false", expect = ACCEPTABLE)
  @Outcome(id = "true, false", expect = ACCEPTABLE_INTERESTING)
  @State
  public static class LateAdditionAndDeparture extends SharedBlock {
    private final int epoch;

    public LateAdditionAndDeparture() {
      super(8, 6);
      epoch = index.epoch(7);
    }

    @Actor
    public void claims() {
      index.claim(HASH, epoch, 0);
    }

    @Actor
    public void leaves(ZZ_Result r) {
      index.forget(7);
      r.r1 = index.holds(HASH, 7);
    }

    @Arbiter
    public void after(ZZ_Result r) {
      r.r2 = index.holds(HASH, 7);
    }
  }
}
