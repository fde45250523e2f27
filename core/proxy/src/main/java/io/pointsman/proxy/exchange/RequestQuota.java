package io.pointsman.proxy.exchange;

import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.ChargedResponses;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/**
 * One request in the limits of its client. It takes a place and the prompt's estimated tokens
 * before its admission; at its end the tokens that the engine counted replace the estimate. Belongs
 * to the client's event loop.
 */
final class RequestQuota {
  private QuotaAnswer.Admitted place = QuotaAnswer.UNLIMITED;

  /** Id of the stored response that the request is for; null for other requests. */
  private @Nullable String stored;

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
        stored = admitted.ofTokens() ? StoredResponse.idInPath(facts.endpoint(), head) : null;
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

  /** Ends the request. */
  void end(ExchangeReport report, ChargedResponses charged, long now) {
    QuotaAnswer.Admitted ending = place;
    place = QuotaAnswer.UNLIMITED;
    long prompt = report.promptTokens(ending.promptTokens());
    long output = report.outputTokens();
    String read = stored;
    if (read != null) {
      // The prompt was charged with the request that created the response.
      boolean again = report.counted() && !charged.first(read);
      ending.end(0, again ? 0 : output, now);
      return;
    }
    String created = report.created();
    if (created != null && ending.ofTokens() && report.counted()) {
      charged.first(created);
    }
    ending.end(prompt, output, now);
  }
}
