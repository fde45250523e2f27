package io.pointsman.proxy.settings;

/** Handling of request bodies with a {@code Content-Encoding}. */
public enum BodyDecoding {
  /** Bodies are decoded, and workers get them decoded. */
  AUTO,
  /**
   * Bodies are decoded for routing, and workers get them as they came. With prefill and decode
   * workers, as {@link #AUTO}.
   */
  FORWARD,
  /** Bodies are not decoded. Workers get them as they came, and only their head counts. */
  OFF
}
