package io.pointsman.proxy.reply;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.proxy.admission.Admission;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.wire.RouterId;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Answers to requests without a worker. */
public final class Rejections {
  /** Header with the limit of a client that is reached: the name of a {@link ClientLimit}. */
  public static final String LIMIT_HEADER = "x-pointsman-limit";

  private Rejections() {}

  public static ProxyError error(RejectReason reason) {
    return switch (reason) {
      case UNKNOWN_MODEL -> ProxyError.UNKNOWN_MODEL;
      case MODELS_PENDING -> ProxyError.MODELS_PENDING;
      case NO_WORKERS -> ProxyError.NO_WORKERS;
      case NONE_AVAILABLE, ALL_TRIED -> ProxyError.NONE_AVAILABLE;
      case ALL_BUSY -> ProxyError.ALL_BUSY;
      case UNSPLITTABLE -> ProxyError.UNSPLITTABLE;
    };
  }

  /** Answer to a request that fails with {@code error}. */
  public static Reply reply(ProxyError error) {
    return Reply.of(error, error.message());
  }

  /**
   * Headers of the answer to a request that goes in a circle of routers. The router that sent the
   * request recognises this one by its id.
   */
  public static Map<String, String> loopHeaders(RouterId router) {
    return Map.of(RouterId.ROUTER, router.text(), "x-should-retry", "false");
  }

  /** Answer to a request that only routers could serve which it has passed. */
  public static Reply loop(RouterId router) {
    Reply reply = reply(ProxyError.ROUTING_LOOP);
    for (Map.Entry<String, String> each : loopHeaders(router).entrySet()) {
      reply = reply.with(each.getKey(), each.getValue());
    }
    return reply;
  }

  /** The error for a limit of the client. */
  public static ProxyError error(QuotaAnswer.Refused limited) {
    return limited.limit().ofTokens()
        ? ProxyError.CLIENT_TOKENS_LIMITED
        : ProxyError.CLIENT_REQUESTS_LIMITED;
  }

  /** Answer to a request beyond a limit of its client. */
  public static Reply reply(QuotaAnswer.Refused limited) {
    long seconds = Reply.seconds(limited.nanos());
    String detail =
        "rate limit reached: %s (limit %d); try again in %d s"
            .formatted(limited.limit().text(), limited.most(), seconds);
    Reply reply =
        Reply.of(error(limited), detail)
            .retryAfter(limited.nanos())
            .with(LIMIT_HEADER, limited.limit().label());
    for (String line : limited.headers().lines().toList()) {
      int colon = line.indexOf(": ");
      reply = reply.with(line.substring(0, colon), line.substring(colon + 2));
    }
    return reply;
  }

  /** Answer to a request that has no place in a full queue, or has lost it. */
  public static Reply left(ProxyError error, Admission admission) {
    int status = admission.settings().queueFullStatus();
    return Reply.of(error, status, error.message()).retryAfter(admission.nanosToTurn());
  }

  /**
   * Answer to a rejected request. If all workers report that they are busy, it has their status;
   * for a limit of the router it has 503.
   *
   * @param model model of the request
   */
  public static Reply reply(Decision.Rejected rejected, @Nullable String model) {
    int reported = rejected.busyStatus();
    return reply(rejected, model, reported == 0 ? ProxyError.ALL_BUSY.status() : reported);
  }

  /**
   * Answer to a rejected request.
   *
   * @param model model of the request
   * @param busyStatus status while all workers are busy
   */
  public static Reply reply(Decision.Rejected rejected, @Nullable String model, int busyStatus) {
    ProxyError error = error(rejected.reason());
    if (error == ProxyError.UNKNOWN_MODEL) {
      return Reply.of(error, "The model `" + model + "` does not exist.");
    }
    if (error == ProxyError.UNSPLITTABLE) {
      return Reply.of(error, error.message());
    }
    int status = error == ProxyError.ALL_BUSY ? busyStatus : error.status();
    return Reply.of(error, status, error.message()).retryAfter(rejected.retryAfterNanos());
  }
}
