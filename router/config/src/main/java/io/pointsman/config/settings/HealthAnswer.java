package io.pointsman.config.settings;

/** Meaning of the answer to {@code GET /health} on the clients' port. */
public enum HealthAnswer {
  /** 200 while the process runs. */
  LIVE,
  /** 200 while at least one model can be served, as {@code /readyz}. */
  READY,
  /** 200 while every worker is well and the router does not stop, as vllm-router. */
  ALL
}
