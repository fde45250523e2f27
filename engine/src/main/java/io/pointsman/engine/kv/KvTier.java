package io.pointsman.engine.kv;

/** Where an engine keeps blocks of KV memory, from the fastest to the slowest. */
public enum KvTier {
  /** The accelerator's memory: nothing has to be moved. */
  DEVICE(0),
  /** The host's memory. */
  HOST(1),
  /** Local storage. */
  DISK(2),
  /** A pool that several engines share. */
  EXTERNAL(3);

  private final int index;

  KvTier(int index) {
    this.index = index;
  }

  /** Its place in tables, in the order above. */
  int index() {
    return index;
  }
}
