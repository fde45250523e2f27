package io.pointsman.proxy.reply;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.proxy.admission.Admission;
import org.jspecify.annotations.Nullable;

/** What a client is told when the engine has no worker for its request. */
public final class Rejections {
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

  /** For a request that fails by {@code error}, with when to come again where that may help. */
  public static Reply reply(ProxyError error) {
    Reply reply = Reply.of(error, error.message());
    boolean passing =
        error == ProxyError.OUT_OF_DESCRIPTORS
            || error == ProxyError.OUT_OF_PORTS
            || error == ProxyError.BUFFERS_FULL
            || error == ProxyError.ALL_BUSY;
    return passing ? reply.retryAfter(0) : reply;
  }

  /** For a request that finds the queue full. */
  public static Reply queueFull(Admission admission) {
    ProxyError error = ProxyError.QUEUE_FULL;
    int status = admission.settings().queueFullStatus();
    return Reply.of(error, status, error.message()).retryAfter(admission.nanosToTurn());
  }

  /**
   * Workers that are all busy by their own word are told of by theirs; a limit of the router's own
   * is 503.
   *
   * @param model the model asked for
   */
  public static Reply reply(Decision.Rejected rejected, @Nullable String model) {
    int said = rejected.busyStatus();
    return reply(rejected, model, said == 0 ? ProxyError.ALL_BUSY.status() : said);
  }

  /**
   * @param model the model asked for
   * @param busyStatus what to answer while all workers are busy
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
