package io.pointsman.tool.sim.http;

/**
 * Treatment of client connections.
 *
 * @param keepAliveSeconds idle connections are closed after this wall time; 0: never
 * @param gzip true if complete responses are compressed for clients that accept it
 * @param maxBodyBytes largest request body; larger ones get 413
 */
public record SimConnectionOptions(double keepAliveSeconds, boolean gzip, int maxBodyBytes) {
  /** Five seconds of keep-alive, no compression, bodies up to 256 MiB. */
  public static final SimConnectionOptions DEFAULT = new SimConnectionOptions(5, false, 256 << 20);

  /** Rejects values out of range. */
  public SimConnectionOptions {
    if (!(keepAliveSeconds >= 0) || maxBodyBytes < 1) {
      throw new IllegalArgumentException(
          "keep-alive-seconds, max-body-bytes: "
              + keepAliveSeconds
              + ", "
              + maxBodyBytes
              + " (expected: at least 0, at least 1)");
    }
  }
}
