package io.pointsman.testkit.engine;

/** Faults of several engines together, over several requests, and of their names. */
public enum FleetFault {
  /** All engines and their connections end at the same time, and return later. */
  ALL_DIE_AT_ONCE,
  /** An engine ends and returns repeatedly. */
  FLAPS,
  /** An engine answers probes, and nothing else. */
  HANGS_WITH_GOOD_PROBES,
  /** Engines serve requests, but answer probes too late. */
  PROBES_TIME_OUT,
  /** An engine answers nothing any more, and its connections stay open. */
  FALLS_SILENT,
  /** An engine sends a second answer late, on a connection that the router keeps. */
  ANSWERS_TWICE,
  /** An engine is terminated: it aborts its requests, and streams without a token stay open. */
  ENGINE_IS_TERMINATED,
  /** An engine that shuts down answers requests with 500 and probes with 200. */
  ENGINE_SHUTS_DOWN,
  /** An engine's name gets another address. */
  NAME_MOVES,
  /** A name has several addresses, and an engine answers at some of them. */
  NAME_HAS_SEVERAL_ADDRESSES,
  /** An engine's name becomes unknown. */
  NAME_IS_UNKNOWN,
  /** The lookup of an engine's name gets no response. */
  NAME_LOOK_UP_HANGS,
  /** An adapter is loaded or removed while several engines serve its base model. */
  ADAPTER_CHANGES,
  /** Engines sleep or are paused; they answer probes, but no requests. */
  ENGINE_SLEEPS,
  /** A control call succeeds at some engines and fails at another. */
  CONTROL_CALL_FAILS,
  /** No worker is available yet, or for the length of a restart. */
  NO_WORKER_YET,
  /** A model that is expected has no worker, while others have. */
  MODEL_WITHOUT_WORKER,
  /** The watched file with workers is missing, half written or wrong. */
  WORKER_FILE_BREAKS,
  /** Name servers do not answer questions about workers. */
  DNS_FAILS,
  /** A name that stands for workers has no records any more. */
  DNS_HAS_NO_RECORDS,
  /** The router, or a router that leads back to it, is among its workers. */
  ROUTER_AMONG_WORKERS
}
