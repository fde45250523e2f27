package io.pointsman.kubernetes;

import io.fabric8.kubernetes.client.KubernetesClientException;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * State of the connection to the API. It logs once when objects cannot be watched, once more if the
 * reason becomes known later, and once when they can again. Any thread may call {@link #failed};
 * only the discovery thread calls {@link #look}.
 */
final class ApiOutage {
  private static final Logger log = LoggerFactory.getLogger(ApiOutage.class);
  private static final int LONGEST_CAUSE = 300;
  private static final String NO_ANSWER = "no answer";

  /**
   * Minimum length of an outage. A watch ends and restarts every few minutes, which is no outage.
   */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private final String url;
  private final String watched;
  private final String effect;
  private final Ticker ticker;
  private volatile String cause = NO_ANSWER;
  private volatile boolean away;

  /** True if the reason of the present outage is in the log. */
  private boolean explained;

  private long goodAt;

  ApiOutage(String url, Ticker ticker) {
    this(url, "pods", "the workers stay unchanged until it answers", ticker);
  }

  /**
   * @param watched the kind of objects
   * @param effect the effect of the outage
   */
  ApiOutage(String url, String watched, String effect, Ticker ticker) {
    this.url = url;
    this.watched = watched;
    this.effect = effect;
    this.ticker = ticker;
    goodAt = ticker.nanos();
  }

  /** Records the reason of a failure. */
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

  /** Records if the objects are watched at this moment. */
  void look(boolean watching) {
    long now = ticker.nanos();
    Duration since = Duration.ofNanos(now - goodAt);
    if (watching) {
      goodAt = now;
      cause = NO_ANSWER;
      if (away) {
        away = false;
        log.info("{}: watching {} again after {} s", url, watched, since.toSeconds());
      }
    } else if (since.compareTo(PATIENCE) >= 0) {
      String why = cause;
      boolean known = !why.equals(NO_ANSWER);
      if (!away || (known && !explained)) {
        log.warn("{}: cannot watch {}: {}; {}", url, watched, LogText.of(why), effect);
      }
      explained = known;
      away = true;
    }
  }

  /** The reason of the current or next outage. */
  String cause() {
    return cause;
  }

  /** True if the objects were not watched for longer than the restart of a watch takes. */
  boolean away() {
    return away;
  }
}
