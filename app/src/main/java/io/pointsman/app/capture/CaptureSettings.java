package io.pointsman.app.capture;

import static java.util.Objects.requireNonNull;

/**
 * Where requests are written down.
 *
 * @param file one JSON line for each request that was answered; empty for none
 * @param maxBytes most bytes of each file; at least 64 KiB
 * @param files how many files are kept, the one being written included; 1 to 1,000. Older ones have
 *     a number behind their name, the highest is the oldest.
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

  /** Whether anything is written down. */
  public boolean enabled() {
    return !file.isEmpty();
  }
}
