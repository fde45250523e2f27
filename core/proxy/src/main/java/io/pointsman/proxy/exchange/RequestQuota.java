package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/**
 * One request in the limits of its client. It takes a place and the prompt's estimated tokens
 * before its admission; at its end the tokens that the engine counted replace the estimate. Belongs
 * to the client's event loop.
 */
final class RequestQuota {
  /** Status in reports for a client that left before its answer. */
  private static final int CLIENT_LEFT = 499;

  private QuotaAnswer.Admitted place = QuotaAnswer.UNLIMITED;

  /** Takes a place; returns the refusal if a limit is reached, else null. */
  QuotaAnswer.@Nullable Refused take(ServerContext plane, RequestHead head, RequestFacts facts) {
    QuotaAnswer answer =
        plane
            .limiter()
            .enter(
                head.identity(),
                facts.model(),
                plane.engine().fleet().snapshot(),
                facts.prefix().tokens(),
                plane.limits().clients().quota());
    return switch (answer) {
      case QuotaAnswer.Admitted admitted -> {
        place = admitted;
        yield null;
      }
      case QuotaAnswer.Refused refused -> refused;
    };
  }

  /** Header lines about the limits; empty without limits. */
  String headers() {
    return place.headers();
  }

  /** True if the token counts of the answer are needed. */
  boolean countsTokens() {
    return place.ofTokens();
  }

  /**
   * Ends the request. A prompt costs no tokens if no worker has computed any of it. Without counts
   * of the engine, the estimate stays, and each chunk of a stream is a token.
   */
  void end(ExchangeReport report, long now) {
    QuotaAnswer.Admitted ending = place;
    place = QuotaAnswer.UNLIMITED;
    Usage usage = report.usage();
    boolean failed = report.status() >= 400 && report.status() != CLIENT_LEFT;
    long estimate = report.worker() == null || failed ? 0 : ending.promptTokens();
    long prompt = usage.promptTokens() < 0 ? estimate : usage.promptTokens();
    long chunks = report.streamed() ? report.chunksOut() : 0;
    long output = usage.completionTokens() < 0 ? chunks : usage.completionTokens();
    ending.end(prompt, output, now);
  }
}
