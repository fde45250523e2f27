package io.pointsman.engine.kv;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.IJ_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * The index of KV events. Events of one source are applied one after the other. Lookups take no
 * lock and read several entries, so a lookup during a message may see a part of it. A lookup never
 * finds more than was announced before or during it.
 */
public final class KvIndexStress {
  private static final int BLOCK = TokenIds.PER_BLOCK;
  private static final int BLOCKS = 3;
  private static final Source FIRST = Source.of(1);
  private static final Source SECOND = Source.of(2);

  private KvIndexStress() {}

  /** One prompt of three blocks, as an engine announces it and as a request asks for it. */
  @SuppressWarnings("ArrayRecordComponent") // constants
  record Source(long[] ids, int[] tokens, PrefixBlocks key) {
    static Source of(int number) {
      long[] ids = new long[BLOCKS];
      Arrays.setAll(ids, i -> 100L * number + i);
      int[] tokens = new int[BLOCKS * BLOCK + 1];
      Arrays.setAll(tokens, i -> 1000 * number + i);
      return new Source(ids, tokens, TokenIds.key(0, tokens, tokens.length, tokens.length));
    }

    KvEvent stored() {
      int[] whole = Arrays.copyOf(tokens, BLOCKS * BLOCK);
      return new KvEvent.Stored(ids, null, whole, BLOCK, KvTier.DEVICE, null, true);
    }

    /** The last block leaves the device. */
    KvEvent lastRemoved() {
      return new KvEvent.Removed(new long[] {ids[BLOCKS - 1]}, KvTier.DEVICE);
    }
  }

  /** The events of one rank in an index of its own. */
  public abstract static class OneRank {
    final AtomicLong bytesLeft = new AtomicLong(1 << 20);
    final Adapters adapters = new Adapters();
    final BlockIndex index = new BlockIndex(64 << 10, 2);
    final KvEventState rank =
        new KvEventState(0, index, 0, bytesLeft, new AtomicLongArray(KvTier.values().length), 0);

    boolean contains(int block) {
      return index.contains(FIRST.key.rebased(block, adapters.asked(null)));
    }
  }

  /** kv.prefix-closed: a reader that finds a prefix finds every shorter one. */
  @JCStressTest
  @Outcome(
      id = {"false, false", "false, true", "true, true"},
      expect = ACCEPTABLE)
  @State
  public static class StoredAndReader extends OneRank {
    @Actor
    public void stores() {
      rank.apply(List.of(FIRST.stored()), adapters, 0, 0);
    }

    @Actor
    public void reads(ZZ_Result r) {
      r.r1 = contains(BLOCKS - 1);
      r.r2 = contains(0);
    }
  }

  /** kv.clear-time: a reader that counts a clear finds the time of this clear. */
  @JCStressTest
  @Outcome(
      id = {"0, 0", "0, 7", "1, 7"},
      expect = ACCEPTABLE)
  @State
  public static class ClearAndReader extends OneRank {
    @Actor
    public void clears() {
      rank.restarted(7);
    }

    @Actor
    public void reads(IJ_Result r) {
      r.r1 = rank.clears();
      r.r2 = rank.emptyUntil();
    }
  }

  /** kv.closed-empty: a message that is applied while its worker leaves leaves nothing behind. */
  @JCStressTest
  @Outcome(id = "0, 1048576", expect = ACCEPTABLE)
  @State
  public static class MessageAndClose extends OneRank {
    @Actor
    public void applies() {
      rank.apply(List.of(FIRST.stored()), adapters, 0, 0);
    }

    @Actor
    public void closes() {
      rank.close();
    }

    @Arbiter
    public void after(IJ_Result r) {
      r.r1 = (contains(0) ? 1 : 0) + (int) rank.deviceTokens();
      r.r2 = bytesLeft.get();
    }
  }

  /** kv.budget-exact: memory is refused only if it does not fit. */
  @JCStressTest
  @Outcome(id = "false, true", expect = ACCEPTABLE)
  @State
  public static class TwoReservations {
    private final AtomicLong bytesLeft = new AtomicLong(4096);
    private final KvNodes full = new KvNodes(bytesLeft);
    private final KvNodes small = new KvNodes(bytesLeft);

    public TwoReservations() {
      small.add(1, BLOCK);
    }

    @Actor
    public void tooMuch(ZZ_Result r) {
      r.r1 = full.add(1, BLOCK) != KvNodes.NONE;
    }

    @Actor
    public void fits(ZZ_Result r) {
      r.r2 = small.fits(BLOCK);
    }
  }

  /** An index for one worker at a time. */
  public abstract static class OneWorker {
    final Fleet fleet;
    final Worker worker;
    final KvIndex kv = new KvIndex(1 << 20, 1, () -> 0);

    OneWorker() {
      FleetSettings all = FleetSettings.DEFAULTS;
      fleet = new Fleet(new FleetSettings(1, all.health(), all.breaker(), all.stall()), () -> 0);
      worker = fleet.add(WorkerSpec.of("http://w0"));
    }

    static void store(KvIndex kv, Worker worker, int rank, Source prompt) {
      kv.live(worker, rank, true);
      kv.apply(worker, rank, List.of(prompt.stored()));
    }

    int device(Source prompt) {
      return kv.hits(prompt.key, null).device(0);
    }
  }

  /** kv.never-more: a lookup during a removal finds the prefix before or after it. */
  @JCStressTest
  @Outcome(
      id = {"2, 2", "3, 2"},
      expect = ACCEPTABLE)
  @State
  public static class RemovalAndLookup extends OneWorker {
    public RemovalAndLookup() {
      store(kv, worker, 0, FIRST);
    }

    @Actor
    public void removes() {
      kv.apply(worker, 0, List.of(FIRST.lastRemoved()));
    }

    @Actor
    public void looksUp(II_Result r) {
      r.r1 = device(FIRST);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r2 = device(FIRST);
    }
  }

  /** kv.departed-gone: late messages of a worker that has left change nothing. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = ACCEPTABLE)
  @State
  public static class MessageAndDeparture extends OneWorker {
    @Actor
    public void applies() {
      store(kv, worker, 0, FIRST);
    }

    @Actor
    public void leaves() {
      fleet.remove(worker);
      kv.forget(worker);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = (int) kv.blocks();
      r.r2 = kv.index().holders(FIRST.key.rebased(0, new Adapters().asked(null)));
    }
  }

  /** kv.new-owner: the next worker of a slot gets its own blocks and none of the previous one. */
  @JCStressTest
  @Outcome(id = "0, 3", expect = ACCEPTABLE)
  @State
  public static class LateMessageAndNewOwner extends OneWorker {
    @Actor
    public void applies() {
      store(kv, worker, 0, FIRST);
    }

    @Actor
    public void follows() {
      fleet.remove(worker);
      Worker next = fleet.add(WorkerSpec.of("http://w1"));
      store(kv, next, 0, SECOND);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = device(FIRST);
      r.r2 = device(SECOND);
    }
  }

  /** kv.ranks-apart: the first messages of two ranks create two sources. */
  @JCStressTest
  @Outcome(id = "2, 6", expect = ACCEPTABLE)
  @State
  public static class TwoRanks extends OneWorker {
    @Actor
    public void first() {
      store(kv, worker, 0, FIRST);
    }

    @Actor
    public void second() {
      store(kv, worker, 1, SECOND);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = kv.sources(0).length;
      r.r2 = (int) kv.blocks();
    }
  }

  /** A text prompt with known token ids. */
  public abstract static class OneText {
    static final PrefixBlocks TEXT = text();
    final KnownTexts texts = new KnownTexts(1 << 20, () -> 0);

    OneText() {
      texts.learnMessages(TEXT, 0, FIRST.tokens);
    }

    private static PrefixBlocks text() {
      long[] pieces = {7, 8, 9};
      return PrefixBlocks.chain(1, pieces, 3, 200, 64, 50).asText();
    }
  }

  /** kv.text-found: a known text is found while its entry is replaced. */
  @JCStressTest
  @Outcome(id = "true", expect = ACCEPTABLE)
  @State
  public static class ReplacementAndLookup extends OneText {
    @Actor
    public void replaces() {
      texts.learnMessages(TEXT, 0, FIRST.tokens);
    }

    @Actor
    public void looksUp(Z_Result r) {
      r.r1 = texts.knows(TEXT);
    }
  }

  /** kv.text-bytes: concurrent replacements leave one entry and count its bytes once. */
  @JCStressTest
  @Outcome(id = "0", expect = ACCEPTABLE)
  @State
  public static class TwoReplacements extends OneText {
    private final long before = texts.bytes();

    @Actor
    public void first() {
      texts.learnMessages(TEXT, 0, FIRST.tokens);
    }

    @Actor
    public void second() {
      texts.learnMessages(TEXT, 0, FIRST.tokens);
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = (int) (texts.bytes() - before);
    }
  }
}
