package io.pointsman.engine.policy.cost.report;

import io.pointsman.engine.policy.cost.WorkerModel;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Finds the worker with the longest part of a prompt, other than the chosen worker, for engines
 * that announce their caches. Placements alone are not enough: a holder may be known by
 * announcements only, and a worker may have announced an eviction. For one thread.
 */
final class AnnouncedHolders {
  /**
   * Maximum number of slots that are searched, in addition to the known holders. A prompt with many
   * holders is found among them.
   */
  private static final int MOST_SLOTS = 256;

  private final CachedPrefix known;
  private final BlockScale scale;
  private final IntFunction<@Nullable WorkerModel> bySlot;
  private final WorkerModel chosen;
  private final int longest;
  private final long now;

  private int blocks;
  private @Nullable WorkerModel holder;
  private boolean choosable;

  /**
   * @param cached blocks of the scale that the chosen worker has
   * @param longest most blocks that any worker has, as known before the search
   */
  AnnouncedHolders(
      CachedPrefix known,
      BlockScale scale,
      IntFunction<@Nullable WorkerModel> bySlot,
      WorkerModel chosen,
      int cached,
      int longest,
      long now) {
    this.known = known;
    this.scale = scale;
    this.bySlot = bySlot;
    this.chosen = chosen;
    this.longest = longest;
    this.now = now;
    blocks = cached;
  }

  /**
   * Returns the worker with most blocks; of several, one that can be chosen. Null if none has more
   * than the chosen worker.
   *
   * @param slots number of slots
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
    int found = Math.min(longest, scale.coarse(known.blocks(slot)));
    boolean free = CacheMissRecorder.choosable(model.worker(), now);
    if (found > blocks || (holder != null && found == blocks && free && !choosable)) {
      blocks = found;
      holder = model;
      choosable = free;
    }
  }

  /** Returns the blocks of the found worker, or of the chosen worker if none was found. */
  int blocks() {
    return blocks;
  }
}
