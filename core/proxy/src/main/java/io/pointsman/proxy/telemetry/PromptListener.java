package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/** Receiver of the prompts that go to workers. Called on event loops; must not block. */
public interface PromptListener {
  /** Receives no prompts. */
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

  /** True to receive the body of such a request, which is copied. */
  boolean wants(RequestFacts facts);

  /**
   * Reports a request that was sent, or that another proxy sends. Called once per request,
   * independent of its attempts.
   *
   * @param worker worker that gets the request; null if unknown
   * @param authorization header of the client; null if there is none
   * @param body the client's complete request body; may be kept
   */
  void sent(
      RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body);
}
