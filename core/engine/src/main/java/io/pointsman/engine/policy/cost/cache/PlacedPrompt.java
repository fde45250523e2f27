package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.PrefixBlocks;

/** The prompt of one request in its worker's cache. Guarded by the worker model's lock. */
public final class PlacedPrompt {
  final PrefixBlocks prefix;
  final int tokens;
  final long placedAt;

  /** Blocks that the cache model has, computed or not. */
  int modelled;

  /** Blocks that the worker has, by announcements if they are known, else by the cache model. */
  int blocks;

  /** Tokens of the prompt that earlier requests on the worker had too. */
  int shared;

  /** The part of {@link #shared} that the worker should have cached; 0 without a prefix cache. */
  int cached;

  /** Tokens that the worker need not compute: {@link #cached}, less the rounding to blocks. */
  int reused;

  /**
   * The part of the cached tokens that ended requests have computed. An engine may fail to find the
   * rest, because it computes them in the same step.
   */
  int certain;

  /**
   * Tokens that the worker should have announced: ended requests have computed them, and the delay
   * for announcements has passed. 0 on a worker that announces nothing.
   */
  int announceable;

  /** Prefix lengths that the cache model has stored for this request. */
  int taken;

  /** True if the cached part was used too recently to be evicted since. */
  boolean usedRecently;

  /** At the end of the request: true if the engine has restarted. */
  boolean emptied;

  /** At the end of the request: true if the worker may have evicted the cached part. */
  boolean mayBeEvicted;

  PlacedPrompt(PrefixBlocks prefix, int tokens, long placedAt) {
    this.prefix = prefix;
    this.tokens = tokens;
    this.placedAt = placedAt;
  }

  public PrefixBlocks prefix() {
    return prefix;
  }

  /** Returns the length of the prompt in tokens. */
  public int tokens() {
    return tokens;
  }

  /** Returns the number of blocks that the worker has, in blocks of {@link #prefix}. */
  public int blocks() {
    return blocks;
  }

  /** Returns the number of tokens that the worker need not compute. */
  public int reused() {
    return reused;
  }

  /** Returns the number of cached tokens that ended requests have computed. */
  public int certain() {
    return certain;
  }

  /** Returns the number of tokens that the worker should have announced. */
  public int announceable() {
    return announceable;
  }

  /** Returns true if the engine has restarted; known at the end of the request. */
  public boolean emptied() {
    return emptied;
  }

  /** Returns true if the worker may have evicted the cached part; known at the end. */
  public boolean mayBeEvicted() {
    return mayBeEvicted;
  }
}
