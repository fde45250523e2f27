package io.pointsman.engine.fleet;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.pointsman.engine.fleet.LoadBoard.Mark;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.IZ_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * The load board. Changes of a cell are linearizable. Scans over several cells are not: each cell
 * is read at its own time. A scan returns only values that the cells had.
 */
public final class LoadBoardStress {
  private LoadBoardStress() {}

  private static void enter(LoadBoard board, int slot) {
    int cell = board.cell(slot);
    int found = board.enterIf(slot, cell);
    while (found != cell) {
      cell = found;
      found = board.enterIf(slot, cell);
    }
  }

  /** board.count-exact: concurrent requests are all counted. */
  @JCStressTest
  @Outcome(id = "2", expect = ACCEPTABLE)
  @State
  public static class Entries {
    private final LoadBoard board = new LoadBoard(1);

    @Actor
    public void first() {
      enter(board, 0);
    }

    @Actor
    public void second() {
      enter(board, 0);
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = board.inFlight(0);
    }
  }

  /** board.marks-kept: neither a count nor a mark is lost when both change. */
  @JCStressTest
  @Outcome(id = "1, true", expect = ACCEPTABLE)
  @State
  public static class EntryAndMark {
    private final LoadBoard board = new LoadBoard(1);

    @Actor
    public void enters() {
      enter(board, 0);
    }

    @Actor
    public void marks() {
      board.mark(0, Mark.DRAINING);
    }

    @Arbiter
    public void after(IZ_Result r) {
      r.r1 = board.inFlight(0);
      r.r2 = LoadBoard.has(board.cell(0), Mark.DRAINING);
    }
  }

  /** board.marks-kept: two marks of one cell change independently. */
  @JCStressTest
  @Outcome(id = "true, false", expect = ACCEPTABLE)
  @State
  public static class TwoMarks {
    private final LoadBoard board = new LoadBoard(1);

    public TwoMarks() {
      board.mark(0, Mark.STALLED);
    }

    @Actor
    public void marks() {
      board.mark(0, Mark.RESTING);
    }

    @Actor
    public void unmarks() {
      board.unmark(0, Mark.STALLED);
    }

    @Arbiter
    public void after(ZZ_Result r) {
      r.r1 = LoadBoard.has(board.cell(0), Mark.RESTING);
      r.r2 = LoadBoard.has(board.cell(0), Mark.STALLED);
    }
  }

  /** board.owner-change: the cell's next owner gets no mark and loses no count of a late lease. */
  @JCStressTest
  @Outcome(id = "0", expect = ACCEPTABLE)
  @State
  public static class LateLeaveAndNewOwner {
    private final LoadBoard board = new LoadBoard(1);

    public LateLeaveAndNewOwner() {
      board.mark(0, Mark.DRAINING);
      enter(board, 0);
    }

    @Actor
    public void leaves() {
      board.leave(0);
    }

    @Actor
    public void clears() {
      board.unmarkAll(0);
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = board.cell(0);
    }
  }

  /** board.scan-values: a scan sees each cell before or after a change, never a mixture. */
  @JCStressTest
  @Outcome(
      id = {"0, 0", "0, 1", "0, 16777217"},
      expect = ACCEPTABLE)
  @State
  public static class Scan {
    private final LoadBoard board = new LoadBoard(2);

    @Actor
    public void changes() {
      enter(board, 1);
      board.mark(1, Mark.STALLED);
    }

    @Actor
    public void scans(II_Result r) {
      LoadRange range = board.range(0, 2);
      r.r1 = range.least();
      r.r2 = range.most();
    }
  }
}
