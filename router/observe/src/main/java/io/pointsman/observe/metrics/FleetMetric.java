package io.pointsman.observe.metrics;

/** Metrics of workers, sessions and leases. */
enum FleetMetric implements Metric {
  DISCOVERY_WORKERS(
      Kind.GAUGE,
      "pointsman_discovery_workers",
      "workers",
      "Workers in the fleet that this source names. An engine of several sources counts for each.",
      "source"),
  DISCOVERY_FAILING(
      Kind.GAUGE,
      "pointsman_discovery_failing",
      "parts",
      "Files, names or APIs of this source that cannot be used at present. Their workers stay.",
      "source"),
  DISCOVERY_FAILURES(
      Kind.COUNTER,
      "pointsman_discovery_failures_total",
      "reads",
      "Failed reads or lookups of this source.",
      "source"),
  SESSIONS(
      Kind.GAUGE, "pointsman_sessions", "sessions", "Sticky sessions that are bound to a worker."),
  EXTERNAL_LEASES(
      Kind.GAUGE,
      "pointsman_external_leases",
      "leases",
      "Open leases of other proxies. Each counts as load on its worker."),
  EXTERNAL_LEASES_ENDED(
      Kind.COUNTER,
      "pointsman_external_leases_ended_total",
      "leases",
      "Ended leases of other proxies, by the reported outcome. expired: no report in time.",
      "outcome"),
  EXTERNAL_LEASES_REFUSED(
      Kind.COUNTER,
      "pointsman_external_leases_refused_total",
      "choices",
      "Decisions refused because too many leases were open (decide.max-leases)."),
  REPORTED_TOKENS(
      Kind.COUNTER,
      "pointsman_reported_tokens_total",
      "tokens",
      "Tokens that other proxies reported at the end of leases: prompt, cached (part of prompt),"
          + " completion.",
      "kind"),
  WORKERS(
      Kind.GAUGE,
      "pointsman_workers",
      "workers",
      "Workers in the fleet. available: can get a request; busy: healthy, but at its limit or"
          + " resting; out: unhealthy, draining, stalled or excluded by its breaker.",
      "state"),
  WORKER_IN_FLIGHT(
      Kind.GAUGE,
      "pointsman_worker_requests_in_flight",
      "requests",
      "Requests in flight on the worker, including open leases of other proxies.",
      "worker"),
  WORKER_LIMIT(
      Kind.GAUGE,
      "pointsman_worker_max_in_flight",
      "requests",
      "Maximum number of requests in flight on the worker. 0: no limit.",
      "worker"),
  WORKER_REQUESTS(
      Kind.COUNTER,
      "pointsman_worker_requests_total",
      "requests",
      "Ended requests of the worker, by outcome. failed: the worker caused the failure; ignored:"
          + " the client left or the worker was busy.",
      "worker",
      "outcome"),
  WORKER_HEALTHY(
      Kind.GAUGE,
      "pointsman_worker_healthy",
      "0 or 1",
      "1 if the worker is healthy, according to its probes and to responses that begin.",
      "worker"),
  WORKER_BREAKER(
      Kind.GAUGE,
      "pointsman_worker_breaker_state",
      "state",
      "State of the worker's circuit breaker. 0: closed; 1: open; 2: half-open.",
      "worker"),
  WORKER_BREAKER_OPENINGS(
      Kind.COUNTER,
      "pointsman_worker_breaker_openings_total",
      "openings",
      "Number of times that the worker's circuit breaker opened.",
      "worker"),
  EJECTIONS_REFUSED(
      Kind.COUNTER,
      "pointsman_breaker_ejections_refused_total",
      "times",
      "Number of times that a failing worker stayed in service, or came back, because too many were"
          + " excluded (breaker.max-ejected-share)."),
  WORKER_RESTING(
      Kind.GAUGE,
      "pointsman_worker_resting",
      "0 or 1",
      "1 while the worker rests because it reported that it is busy.",
      "worker"),
  WORKER_STALLED(
      Kind.GAUGE,
      "pointsman_worker_stalled",
      "0 or 1",
      "1 while the worker makes no progress: its requests in flight are silent for too long, or"
          + " clients left without a byte. It gets one trial request at a time.",
      "worker"),
  WORKER_STALLS(
      Kind.COUNTER,
      "pointsman_worker_stalls_total",
      "stalls",
      "Number of times that the worker stopped making progress.",
      "worker"),
  WORKER_DESERTED(
      Kind.COUNTER,
      "pointsman_worker_deserted_requests_total",
      "requests",
      "Requests with a client that left before the worker sent any output.",
      "worker"),
  WORKER_LAST_RESORTS(
      Kind.COUNTER,
      "pointsman_worker_last_resort_requests_total",
      "requests",
      "Requests placed on the worker although it answers no probes, because no worker of its model"
          + " does.",
      "worker"),
  WORKER_ASLEEP(
      Kind.GAUGE,
      "pointsman_worker_asleep",
      "0 or 1",
      "1 while the worker's engine sleeps or is paused; it gets no new requests.",
      "worker"),
  WORKER_DRAINING(
      Kind.GAUGE,
      "pointsman_worker_draining",
      "0 or 1",
      "1 while the worker gets no new requests and finishes its current ones.",
      "worker"),
  WORKER_CORDONED(
      Kind.GAUGE,
      "pointsman_worker_cordoned",
      "0 or 1",
      "1 while an operator excludes the worker from new requests (cordon or drain).",
      "worker"),
  WORKER_WEIGHT(
      Kind.GAUGE,
      "pointsman_worker_weight",
      "ratio",
      "Weight of the worker. Policies divide its load or cost by it.",
      "worker"),
  WORKER_OTHERS(
      Kind.GAUGE,
      "pointsman_worker_requests_of_others",
      "requests",
      "Requests of other clients and routers on the worker's engine, by its last report"
          + " (engine-load.interval). They count as load.",
      "worker"),
  WORKER_KV_USE(
      Kind.GAUGE,
      "pointsman_worker_kv_use",
      "ratio",
      "Used share of the KV memory of the worker's engine, by its last report"
          + " (engine-load.interval).",
      "worker");

  @SuppressWarnings("ImmutableEnumChecker") // its list is a List.copyOf
  private final About about;

  FleetMetric(Kind kind, String metricName, String unit, String meaning, String... labels) {
    about = new About(kind, metricName, unit, meaning, labels);
  }

  @Override
  public About about() {
    return about;
  }
}
