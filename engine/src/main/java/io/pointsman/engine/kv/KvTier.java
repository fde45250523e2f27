package io.pointsman.engine.kv;

/** Where an engine keeps blocks of KV memory, from the fastest to the slowest. */
public enum KvTier {
  /** The accelerator's memory: nothing has to be moved. */
  DEVICE,
  /** The host's memory. */
  HOST,
  /** Local storage. */
  DISK,
  /** A pool that several engines share. */
  EXTERNAL
}
