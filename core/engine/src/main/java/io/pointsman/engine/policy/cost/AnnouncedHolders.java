package io.pointsman.engine.policy.cost;

import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Finds the worker that holds most of a prompt beyond the chosen one, where engines announce their
 * caches. Placements alone do not show it: a holder may be known by its announcements only, and it
 * may have announced that it evicted a prompt that was placed there. For one thread.
 */
final class AnnouncedHolders {
  /** Slots looked at, beside few holders: a prompt that a crowd holds is found among them. */
  private static final int MOST_SLOTS = 256;

  private final CachedPrefix known;
  private final BlockScale grain;
  private final IntFunction<@Nullable WorkerModel> bySlot;
  private final WorkerModel chosen;
  private final int longest;
  private final long now;

  private int blocks;
  private @Nullable WorkerModel holder;
  private boolean choosable;

  /**
   * @param held blocks of the grain that the chosen worker holds
   * @param longest the same of the worker that was thought to hold most
   */
  AnnouncedHolders(
      CachedPrefix known,
      BlockScale grain,
      IntFunction<@Nullable WorkerModel> bySlot,
      WorkerModel chosen,
      int held,
      int longest,
      long now) {
    this.known = known;
    this.grain = grain;
    this.bySlot = bySlot;
    this.chosen = chosen;
    this.longest = longest;
    this.now = now;
    blocks = held;
  }

  /**
   * The worker that holds most, and of several one that may be chosen; null if none holds more than
   * the chosen one.
   *
   * @param slots how many slots there are
   */
  @Nullable WorkerModel find(int slots) {
    for (int place = 0; place < known.places() && !complete(); place++) {
      if (known.slot(place) >= 0) {
        look(known.slot(place));
      }
    }
    int most = Math.min(slots, MOST_SLOTS);
    for (int slot = 0; slot < most && !complete(); slot++) {
      look(slot);
    }
    return holder;
  }

  private boolean complete() {
    return choosable && blocks >= longest;
  }

  private void look(int slot) {
    WorkerModel model = bySlot.apply(slot);
    if (model == null
        || model == chosen
        || model.worker().spec().role() != chosen.worker().spec().role()) {
      return;
    }
    int holds = Math.min(longest, grain.coarse(known.blocks(slot)));
    boolean free = HitLedger.choosable(model.worker(), now);
    if (holds > blocks || (holder != null && holds == blocks && free && !choosable)) {
      blocks = holds;
      holder = model;
      choosable = free;
    }
  }

  /** Blocks of the grain that the worker holds, or else the chosen one. */
  int blocks() {
    return blocks;
  }
}
