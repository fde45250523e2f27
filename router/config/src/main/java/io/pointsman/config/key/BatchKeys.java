package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.settings.BatchSettings;
import java.time.Duration;
import java.util.List;

/** Keys of the APIs for files and batches of requests. */
public final class BatchKeys {
  private static final BatchSettings DEFAULTS = BatchSettings.DEFAULTS;

  public static final Key<Boolean> ENABLED =
      Key.of(
          "batch.enabled",
          bool(),
          DEFAULTS.enabled(),
          "Serve `/v1/files` and `/v1/batches`. Files and batches are kept in `batch.directory` and"
              + " survive a restart.",
          "`true`: files belong to the client's key, else to its certificate; clients without"
              + " both share theirs. Behind a TLS proxy with one certificate, clients need keys."
              + " `false`: these paths go to a worker.");

  public static final Key<String> DIRECTORY =
      Key.of(
          "batch.directory",
          text("<directory>", "a directory", false),
          DEFAULTS.directory(),
          "Directory of files, results and the database of batches. It is created if it is absent."
              + " Each router needs its own.",
          "A directory in memory or in a container's layer loses all batches at a restart.");

  public static final Key<Long> MAX_FILE =
      Key.of(
          "batch.max-file",
          bytes(BatchSettings.LEAST_FILE, BatchSettings.LARGEST_FILE),
          DEFAULTS.maxFileBytes(),
          "Maximum size of an uploaded file. A larger one gets 413. `limits.max-body` applies too.",
          "A low value refuses large batches.");

  public static final Key<Long> MAX_TOTAL =
      Key.of(
          "batch.max-total",
          bytes(BatchSettings.LEAST_FILE, 1L << 50),
          DEFAULTS.maxTotalBytes(),
          "Maximum size of all files together. Further uploads get 413 until files are deleted."
              + " Results of batches are always written.",
          "A high value can fill the disk.");

  public static final Key<Double> MAX_SHARE =
      Key.of(
          "batch.max-share",
          decimal(BatchSettings.LEAST_SHARE, 1),
          DEFAULTS.maxShare(),
          "Maximum share of the store for one client, if keys or certificates distinguish clients."
              + " It applies to three limits: bytes (`batch.max-total`); the number of files; and"
              + " batches (stored, unfinished, or running).",
          "`1`: one client can fill the store, and others can then store nothing.");

  public static final Key<Integer> MAX_REQUESTS =
      Key.of(
          "batch.max-requests",
          integer(1, BatchSettings.MOST_REQUESTS),
          DEFAULTS.maxRequests(),
          "Maximum number of requests in a batch. A batch with more fails.",
          "A high value lets one batch run for long.");

  public static final Key<Integer> PARALLELISM =
      Key.of(
          "batch.parallelism",
          integer(1, BatchSettings.MOST_PARALLEL),
          DEFAULTS.parallelism(),
          "Maximum number of requests of all batches in progress.",
          "A low value makes batches slow. A high value takes capacity from other clients.");

  public static final Key<Integer> ATTEMPTS =
      Key.of(
          "batch.attempts",
          integer(1, BatchSettings.MOST_ATTEMPTS),
          DEFAULTS.attempts(),
          "Maximum number of attempts of a request that fails with 408 or 5xx. After 429, 503 and a"
              + " broken connection it is tried until the batch expires.",
          "`1`: no further attempt.");

  public static final Key<Duration> REQUEST_TIMEOUT =
      Key.of(
          "batch.request-timeout",
          duration(Duration.ofMillis(1), Duration.ofHours(24)),
          DEFAULTS.requestTimeout(),
          "Maximum duration of an attempt, including its time in the queue.",
          "A low value fails long answers.");

  public static final Key<String> API_KEY =
      Key.of(
              "batch.api-key",
              text("<key>", "a key", true),
              DEFAULTS.apiKey(),
              "Bearer token of the batches' requests. It is needed if clients need one"
                  + " (`auth.*`), or if engines do and `api-key` is empty.",
              "Empty: the requests have no token.")
          .secret();

  private BatchKeys() {}

  static List<Key<?>> all() {
    return List.of(
        ENABLED,
        DIRECTORY,
        MAX_FILE,
        MAX_TOTAL,
        MAX_SHARE,
        MAX_REQUESTS,
        PARALLELISM,
        ATTEMPTS,
        REQUEST_TIMEOUT,
        API_KEY);
  }
}
