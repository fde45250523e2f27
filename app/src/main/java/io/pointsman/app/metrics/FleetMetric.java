package io.pointsman.app.metrics;

/** Metrics of workers, sessions and leases. */
enum FleetMetric implements Metric {
  SESSIONS(
      Kind.GAUGE,
      "pointsman_sessions",
      "sessions",
      "Sticky sessions that are bound to a worker now."),
  HELD_LEASES(
      Kind.GAUGE,
      "pointsman_held_leases",
      "leases",
      "Leases held for planes that carry the bytes themselves; each is load on its worker."),
  HELD_LEASES_ENDED(
      Kind.COUNTER,
      "pointsman_held_leases_ended_total",
      "leases",
      "Leases of other planes that ended, by what the plane said; expired if it said nothing in"
          + " time.",
      "outcome"),
  HELD_LEASES_REFUSED(
      Kind.COUNTER,
      "pointsman_held_leases_refused_total",
      "choices",
      "Choices refused because too many leases were held."),
  REPORTED_TOKENS(
      Kind.COUNTER,
      "pointsman_reported_tokens_total",
      "tokens",
      "Tokens that other planes reported when they settled leases: prompt, cached (part of prompt),"
          + " completion.",
      "kind"),
  WORKERS(
      Kind.GAUGE,
      "pointsman_workers",
      "workers",
      "Workers in the fleet. available: would take a request now; busy: healthy, but at its limit"
          + " or resting; out: unhealthy, draining, stalled or left alone by its breaker.",
      "state"),
  WORKER_IN_FLIGHT(
      Kind.GAUGE,
      "pointsman_worker_requests_in_flight",
      "requests",
      "Requests placed on the worker and not settled, whatever path they came by.",
      "worker"),
  WORKER_LIMIT(
      Kind.GAUGE,
      "pointsman_worker_max_in_flight",
      "requests",
      "Most requests in flight that the worker is given; 0 means no limit.",
      "worker"),
  WORKER_REQUESTS(
      Kind.COUNTER,
      "pointsman_worker_requests_total",
      "requests",
      "Requests placed on the worker that ended: succeeded, failed by the worker's fault, or"
          + " ignored (the client left, the worker was busy).",
      "worker",
      "outcome"),
  WORKER_HEALTHY(
      Kind.GAUGE,
      "pointsman_worker_healthy",
      "0 or 1",
      "1 if the worker is taken to be well, by its probes or by answers that begin.",
      "worker"),
  WORKER_BREAKER(
      Kind.GAUGE,
      "pointsman_worker_breaker_state",
      "state",
      "The worker's circuit breaker: 0 closed, 1 open, 2 half-open.",
      "worker"),
  WORKER_BREAKER_OPENINGS(
      Kind.COUNTER,
      "pointsman_worker_breaker_openings_total",
      "openings",
      "Times the worker's circuit breaker opened.",
      "worker"),
  WORKER_RESTING(
      Kind.GAUGE,
      "pointsman_worker_resting",
      "0 or 1",
      "1 while the worker rests because it said that it is busy.",
      "worker"),
  WORKER_STALLED(
      Kind.GAUGE,
      "pointsman_worker_stalled",
      "0 or 1",
      "1 while the worker has requests in flight and shows no progress.",
      "worker"),
  WORKER_DRAINING(
      Kind.GAUGE,
      "pointsman_worker_draining",
      "0 or 1",
      "1 while the worker is given no new requests.",
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
