package io.pointsman.sim.kv;

import java.util.Locale;

/** What an engine does for requests whose prefill and decode are apart. */
public enum KvRole {
  /** Computes prompts and hands their KV over. */
  PREFILL,
  /** Takes KV over and produces tokens. */
  DECODE,
  /** Both, and whole requests as well. */
  BOTH;

  /** As the flag and the state name it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether it may hand KV over. */
  public boolean prefills() {
    return this != DECODE;
  }

  /** Whether it may take KV over. */
  public boolean decodes() {
    return this != PREFILL;
  }
}
