package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/**
 * Hears of prompts when they are on their way to a worker. Called on event loops: must not block.
 */
public interface PromptListener {
  /** Wants to hear of none. */
  PromptListener NONE =
      new PromptListener() {
        @Override
        public boolean wants(RequestFacts facts) {
          return false;
        }

        @Override
        public void sent(
            RequestFacts facts,
            @Nullable Worker worker,
            @Nullable String authorization,
            byte[] body) {}
      };

  /** Whether the body of such a request is wanted, which is copied for it. */
  boolean wants(RequestFacts facts);

  /**
   * A request that is wanted has been sent, or is by another plane; once for each request, whatever
   * its attempts.
   *
   * @param worker to which it is sent; null if that is not known
   * @param authorization the client's; null for none
   * @param body the client's request, whole; may be kept
   */
  void sent(
      RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body);
}
