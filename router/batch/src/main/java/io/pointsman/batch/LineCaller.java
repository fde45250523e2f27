package io.pointsman.batch;

import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Sends the requests of batches. */
interface LineCaller {
  /** Maximum size of an answer in bytes. */
  int MOST_BYTES = 4 << 20;

  /**
   * An answer.
   *
   * @param retryAfter value of {@code Retry-After}; null if there is none
   * @param limit limit of the client that refuses the request; null if none does
   * @param requestId value of {@code x-request-id}
   * @param body the body; null if it is larger than {@link #MOST_BYTES}
   */
  record Answer(
      int status,
      @Nullable String retryAfter,
      @Nullable String limit,
      String requestId,
      @Nullable String body) {}

  /**
   * Sends a request and waits for its answer. An interrupt cancels it.
   *
   * @param secret names the client of the batch, see {@link BatchClients}; empty: none
   * @throws IOException if there is no complete answer in time
   */
  Answer post(String path, String requestId, String secret, String body, Duration timeout)
      throws IOException, InterruptedException;
}
