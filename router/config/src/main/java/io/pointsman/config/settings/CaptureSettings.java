package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

/**
 * Settings of the trace capture.
 *
 * @param file file for one JSON line per answered request; empty: no capture
 * @param maxBytes maximum size of each file in bytes; at least 64 KiB
 * @param files maximum number of files, including the current one; 1 to 1,000. Older files have a
 *     number as suffix; the oldest has the highest.
 */
public record CaptureSettings(String file, long maxBytes, int files) {
  private static final long LEAST_BYTES = 64 << 10;

  public static final CaptureSettings DEFAULTS = new CaptureSettings("", 64L << 20, 8);

  public CaptureSettings {
    requireNonNull(file, "file");
    if (maxBytes < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "maxBytes: " + maxBytes + " (expected: >= " + LEAST_BYTES + ")");
    }
    if (files < 1 || files > 1000) {
      throw new IllegalArgumentException("files: " + files + " (expected: 1 to 1000)");
    }
  }

  /** True if requests are captured. */
  public boolean enabled() {
    return !file.isEmpty();
  }
}
