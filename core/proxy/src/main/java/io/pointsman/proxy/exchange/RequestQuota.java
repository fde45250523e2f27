package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Usage;
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

  /** Tokens that were charged before the end. */
  private long prompt;

  private long output;

  /** Id of the stored response that the request is for; null for other requests. */
  private @Nullable String stored;

  /** Takes a place; returns the refusal if a limit is reached, else null. */
  QuotaAnswer.@Nullable Refused take(ServerContext server, RequestHead head, RequestFacts facts) {
    QuotaAnswer answer =
        server
            .limiter()
            .enter(
                head.identity(),
                facts.model(),
                server.engine().fleet().snapshot(),
                facts.prefix().tokens(),
                server.live().limits().clients().quota());
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

  /**
   * Charges the tokens that a WebSocket has used so far. It may stay open for hours, so its end is
   * too late.
   */
  void used(Usage total, long now) {
    long morePrompt = Math.max(0, total.promptTokens() - prompt);
    long moreOutput = Math.max(0, total.completionTokens() - output);
    if (morePrompt > 0 || moreOutput > 0) {
      prompt += morePrompt;
      output += moreOutput;
      place.spend(morePrompt, moreOutput, now);
    }
  }

  /** Ends the request. */
  void end(ExchangeReport report, ChargedResponses charged, long now) {
    QuotaAnswer.Admitted ending = place;
    place = QuotaAnswer.UNLIMITED;
    long promptLeft = report.promptTokens(ending.promptTokens()) - prompt;
    long outputLeft = report.outputTokens() - output;
    String read = stored;
    if (read != null) {
      // The prompt was charged with the request that created the response.
      boolean again = report.counted() && !charged.first(read);
      ending.end(0, again ? 0 : outputLeft, now);
      return;
    }
    String created = report.created();
    if (created != null && ending.ofTokens() && report.counted()) {
      charged.first(created);
    }
    ending.end(promptLeft, outputLeft, now);
  }
}
