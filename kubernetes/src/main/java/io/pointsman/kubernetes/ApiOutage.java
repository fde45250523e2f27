package io.pointsman.kubernetes;

import io.fabric8.kubernetes.client.KubernetesClientException;
import io.pointsman.engine.env.Ticker;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells, once each time, that the API does not let pods be watched and that it does again. {@link
 * #failed} may be called from any thread, {@link #look} is the discovery thread's.
 */
final class ApiOutage {
  private static final Logger log = LoggerFactory.getLogger(ApiOutage.class);
  private static final int LONGEST_CAUSE = 300;
  private static final String NO_ANSWER = "no answer";

  /** A watch ends and begins anew every few minutes; that is no outage. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private final String url;
  private final Ticker ticker;
  private volatile String cause = NO_ANSWER;
  private volatile boolean away;
  private long goodAt;

  ApiOutage(String url, Ticker ticker) {
    this.url = url;
    this.ticker = ticker;
    goodAt = ticker.nanos();
  }

  /** Takes note of why. */
  void failed(Throwable failure) {
    cause = why(failure);
  }

  private static String why(Throwable failure) {
    Throwable deepest = failure;
    while (deepest.getCause() != null
        && !(deepest instanceof KubernetesClientException answer && answer.getCode() > 0)) {
      deepest = deepest.getCause();
    }
    String text =
        deepest instanceof KubernetesClientException
            ? String.valueOf(deepest.getMessage())
            : deepest.toString();
    return text.length() > LONGEST_CAUSE ? text.substring(0, LONGEST_CAUSE) + "..." : text;
  }

  /** Whether pods are watched at this moment. */
  void look(boolean watching) {
    long now = ticker.nanos();
    Duration since = Duration.ofNanos(now - goodAt);
    if (watching) {
      goodAt = now;
      cause = NO_ANSWER;
      if (away) {
        away = false;
        log.info("{}: watching pods again after {} s", url, since.toSeconds());
      }
    } else if (!away && since.compareTo(PATIENCE) >= 0) {
      away = true;
      log.warn(
          "{}: cannot watch pods: {}; the workers stay unchanged until it answers", url, cause);
    }
  }

  /** What the outage that is under way, or the next one, is put down to. */
  String cause() {
    return cause;
  }

  /** Whether pods could not be watched for longer than a watch needs to begin anew. */
  boolean away() {
    return away;
  }
}
