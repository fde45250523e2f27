package io.pointsman.tool.sim.zmq;

import java.util.Locale;

/** The encoding of KV events. */
public enum EventFormat {
  /** vLLM: arrays, hashes of 32 bytes, one event for consecutive blocks. */
  VLLM,
  /** vLLM with events as maps and hashes as numbers. */
  VLLM_MAP,
  /**
   * SGLang: arrays, hashes as numbers, one event for each block; all tiers except the device are
   * named.
   */
  SGLANG;

  /** The name used in flags. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * Returns the format with this label.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static EventFormat of(String label) {
    for (EventFormat each : values()) {
      if (each.label().equals(label)) {
        return each;
      }
    }
    throw new IllegalArgumentException(
        "kv-events: " + label + " (expected: off, vllm, vllm-map or sglang)");
  }
}
