package io.pointsman.sim.zmq;

import java.util.Locale;

/** In which form KV events are written. */
public enum EventFormat {
  /** vLLM: arrays, hashes of 32 bytes, one event for blocks that follow each other. */
  VLLM,
  /** vLLM since its events are maps; hashes are numbers. */
  VLLM_MAP,
  /** SGLang: arrays, hashes are numbers, one event for each block, tiers named but the device. */
  SGLANG;

  /** The name as it is written in flags. */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * The format with this label.
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
