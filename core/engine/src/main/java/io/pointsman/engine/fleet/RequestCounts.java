package io.pointsman.engine.fleet;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts of one worker's requests in flight by their state. Leases change them, each count by one
 * atomic operation; together they are no snapshot. Any thread.
 */
final class RequestCounts {
  private final AtomicInteger unsent = new AtomicInteger();
  private final AtomicInteger whole = new AtomicInteger();
  private final AtomicInteger answering = new AtomicInteger();
  private final AtomicInteger suspects = new AtomicInteger();
  private final AtomicLong pendingTokens = new AtomicLong();

  /** Requests that are sent later. */
  int unsent() {
    return unsent.get();
  }

  /** Sent requests with a response that shows no progress before its end. */
  int whole() {
    return whole.get();
  }

  /** Requests after their first output. */
  int answering() {
    return answering.get();
  }

  /** Requests without output yet after which another worker failed. */
  int suspects() {
    return suspects.get();
  }

  /** Estimated prompt tokens of requests without output. */
  long pendingTokens() {
    return pendingTokens.get();
  }

  void placed(LeaseKind kind, int promptTokens) {
    pendingTokens.addAndGet(promptTokens);
    if (kind.later()) {
      unsent.incrementAndGet();
    } else if (kind.whole()) {
      whole.incrementAndGet();
    }
  }

  /**
   * Records that a request is sent that was placed to be sent later.
   *
   * @return number of such requests before
   */
  int sent(boolean isWhole) {
    int before = unsent.getAndDecrement();
    if (isWhole) {
      whole.incrementAndGet();
    }
    return before;
  }

  /** Records the first output of a request. */
  void began(int promptTokens) {
    pendingTokens.addAndGet(-promptTokens);
    answering.incrementAndGet();
  }

  /**
   * Ends the counts of one request.
   *
   * @param wasUnsent true if it was to be sent later and was not sent
   * @param isWhole true if its response shows no progress before its end
   * @param answered true if it had output
   */
  void ended(boolean wasUnsent, boolean isWhole, boolean answered, int promptTokens) {
    if (answered) {
      answering.decrementAndGet();
    } else {
      pendingTokens.addAndGet(-promptTokens);
    }
    if (wasUnsent) {
      unsent.decrementAndGet();
    } else if (isWhole) {
      whole.decrementAndGet();
    }
  }

  /** Changes the number of suspect requests by {@code change}, which is 1 or -1. */
  void suspects(int change) {
    suspects.addAndGet(change);
  }
}
