package io.pointsman.engine.disagg.plan;

/**
 * A route whose requests can be served by two workers: each names its limit of tokens its own way.
 */
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
   * {@code /inference/v1/generate}: token ids in, sampling parameters in an object of their own.
   */
  TOKEN_GENERATE
}
