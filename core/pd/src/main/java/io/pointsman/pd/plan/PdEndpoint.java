package io.pointsman.pd.plan;

/** A route with requests that can be split. Each route has its own name for the token limit. */
public enum PdEndpoint {
  /** {@code /v1/chat/completions}. */
  CHAT,
  /** {@code /v1/completions}. */
  COMPLETIONS,
  /** {@code /v1/responses}. */
  RESPONSES,
  /** {@code /v1/messages}. */
  MESSAGES,
  /** {@code /generate}. */
  GENERATE,
  /**
   * {@code /inference/v1/generate}: token ids as input, sampling parameters in a separate object.
   */
  TOKEN_GENERATE
}
