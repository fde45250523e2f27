package io.pointsman.tool.sim.kv;

import java.util.Locale;

/** The role of an engine for split requests. */
public enum KvRole {
  /** Computes prompts and provides their KV. */
  PREFILL,
  /** Receives KV and generates tokens. */
  DECODE,
  /** Both, and whole requests too. */
  BOTH;

  /** The name in the flag and the state. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns true if it may provide KV. */
  public boolean prefills() {
    return this != DECODE;
  }

  /** Returns true if it may receive KV. */
  public boolean decodes() {
    return this != PREFILL;
  }
}
