package io.pointsman.engine.kv;

/** Storage tiers of an engine's KV blocks, from the fastest to the slowest. */
public enum KvTier {
  /** The accelerator's memory; blocks need no transfer. */
  DEVICE(0),
  /** The host's memory. */
  HOST(1),
  /** Local storage. */
  DISK(2),
  /** A pool used by several engines. */
  EXTERNAL(3);

  private final int index;

  KvTier(int index) {
    this.index = index;
  }

  /** Its index in tables, in the order above. */
  int index() {
    return index;
  }
}
