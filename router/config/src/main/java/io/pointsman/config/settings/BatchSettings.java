package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Settings of the APIs for files and batches of requests.
 *
 * @param enabled true if the router serves them
 * @param directory directory of the store; created if it is absent
 * @param maxFileBytes maximum size of an uploaded file, 1 KiB to 1 GiB
 * @param maxTotalBytes maximum size of all files together; uploads beyond it are refused
 * @param maxShare maximum share of the limits of the store for one client, 0.001 to 1
 * @param maxRequests maximum number of requests in a batch
 * @param parallelism maximum number of requests of all batches in progress
 * @param attempts maximum number of attempts of a request that fails
 * @param requestTimeout maximum duration of an attempt, at least 1 ms
 * @param apiKey bearer token of the requests; empty: none
 */
@RecordBuilder
public record BatchSettings(
    boolean enabled,
    String directory,
    long maxFileBytes,
    long maxTotalBytes,
    double maxShare,
    int maxRequests,
    int parallelism,
    int attempts,
    Duration requestTimeout,
    String apiKey)
    implements BatchSettingsBuilder.With {
  public static final long LEAST_FILE = 1 << 10;
  public static final long LARGEST_FILE = 1 << 30;
  public static final double LEAST_SHARE = 0.001;
  public static final int MOST_REQUESTS = 1_000_000;
  public static final int MOST_PARALLEL = 4096;
  public static final int MOST_ATTEMPTS = 100;

  public static final BatchSettings DEFAULTS =
      new BatchSettings(
          false,
          "pointsman-files",
          100L << 20,
          10L << 30,
          0.5,
          50_000,
          16,
          3,
          Duration.ofMinutes(10),
          "");

  public BatchSettings {
    if (requireNonNull(directory, "directory").isBlank()) {
      throw new IllegalArgumentException("directory: empty (expected: a directory)");
    }
    requireNonNull(requestTimeout, "requestTimeout");
    requireNonNull(apiKey, "apiKey");
    require("maxFileBytes", maxFileBytes, LEAST_FILE, LARGEST_FILE);
    require("maxTotalBytes", maxTotalBytes, LEAST_FILE, Long.MAX_VALUE);
    if (!(maxShare >= LEAST_SHARE && maxShare <= 1)) {
      throw new IllegalArgumentException(
          "maxShare: " + maxShare + " (expected: " + LEAST_SHARE + " to 1)");
    }
    require("maxRequests", maxRequests, 1, MOST_REQUESTS);
    require("parallelism", parallelism, 1, MOST_PARALLEL);
    require("attempts", attempts, 1, MOST_ATTEMPTS);
    if (requestTimeout.toMillis() < 1) {
      throw new IllegalArgumentException(
          "requestTimeout: " + requestTimeout + " (expected: at least 1 ms)");
    }
  }

  /** True if both are in use with the same directory, in any spelling. */
  public boolean sharesStore(BatchSettings other) {
    if (!enabled || !other.enabled) {
      return false;
    }
    Path own = Path.of(directory).toAbsolutePath().normalize();
    Path others = Path.of(other.directory).toAbsolutePath().normalize();
    try {
      return own.equals(others) || Files.isSameFile(own, others);
    } catch (IOException e) {
      // A directory that is absent has no store yet.
      return false;
    }
  }

  private static void require(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: " + least + " to " + most + ")");
    }
  }
}
