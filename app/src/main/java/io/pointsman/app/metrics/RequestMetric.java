package io.pointsman.app.metrics;

/** Metrics of requests, including split ones. */
enum RequestMetric implements Metric {
  REQUESTS(
      Kind.COUNTER,
      "pointsman_requests_total",
      "requests",
      "Requests that ended, by the status that the client got. A client that left before the status"
          + " counts as 499; an unusual status counts as its class (2xx, 5xx).",
      "endpoint",
      "code",
      "model"),
  REQUESTS_IN_FLIGHT(
      Kind.GAUGE,
      "pointsman_requests_in_flight",
      "requests",
      "Client requests that have begun and not ended, queued ones included."),
  ERRORS(
      Kind.COUNTER,
      "pointsman_errors_total",
      "errors",
      "Requests that did not end well, and whose fault it was. kind is left (the client went away),"
          + " cut (the answer broke off after its head) or the status that the client got.",
      "blame",
      "kind"),
  HEADERS_SECONDS(
      Kind.HISTOGRAM,
      "pointsman_response_headers_seconds",
      "seconds",
      "From the end of the request's head to the response's head, retries and queueing included.",
      "endpoint"),
  TTFT_SECONDS(
      Kind.HISTOGRAM,
      "pointsman_time_to_first_token_seconds",
      "seconds",
      "From the end of the request's head to the first byte of a streamed answer's body, but for"
          + " what engines send before they compute (response.created, comments).",
      "endpoint"),
  DURATION_SECONDS(
      Kind.HISTOGRAM,
      "pointsman_request_duration_seconds",
      "seconds",
      "From the end of the request's head to the end of the response.",
      "endpoint"),
  RESPONSE_CHUNKS(
      Kind.COUNTER,
      "pointsman_response_chunks_total",
      "chunks",
      "Reads from workers that were relayed to clients; about one per token of a stream."),
  RESPONSE_BYTES(
      Kind.COUNTER,
      "pointsman_response_bytes_total",
      "bytes",
      "Bytes of answers handed to clients' sockets, heads and framing included."),
  CLIENT_CONNECTIONS(
      Kind.GAUGE,
      "pointsman_client_connections",
      "connections",
      "Clients that are connected, idle ones included; who comes beyond limits.max-connections"
          + " waits to be accepted."),
  CLIENT_CONNECTIONS_LIMIT(
      Kind.GAUGE,
      "pointsman_client_connections_limit",
      "connections",
      "How many clients may be connected (limits.max-connections); 0 if as many as come."),
  QUEUE_LENGTH(
      Kind.GAUGE,
      "pointsman_queue_length",
      "requests",
      "Requests that wait because the limit of concurrent requests is reached."),
  QUEUE_WAIT_SECONDS(
      Kind.HISTOGRAM,
      "pointsman_queue_wait_seconds",
      "seconds",
      "How long requests waited in the queue that had to wait at all."),
  HELD_BACK(
      Kind.GAUGE,
      "pointsman_held_back",
      "requests",
      "Requests that are held back in the router because every worker is full"
          + " (limits.hold-beyond)."),
  HELD_BACK_SECONDS(
      Kind.HISTOGRAM,
      "pointsman_held_back_seconds",
      "seconds",
      "How long requests were held back that were held back at all."),
  BUFFERED_BYTES(
      Kind.GAUGE,
      "pointsman_buffered_bytes",
      "bytes",
      "Memory taken by what is kept of requests' bodies; at most limits.max-buffered-total."),
  BUFFERS_REFUSED(
      Kind.COUNTER,
      "pointsman_buffers_refused_total",
      "requests",
      "Requests that were refused because there was no room for their bodies"
          + " (limits.max-buffered-total)."),
  RETRIES(
      Kind.COUNTER,
      "pointsman_retries_total",
      "retries",
      "Further attempts of a request on another worker, by what the attempt before ended with;"
          + " stale: sent once more to the same worker, because a kept connection was closed.",
      "reason"),
  SPLIT_DECISIONS(
      Kind.COUNTER,
      "pointsman_split_decisions_total",
      "requests",
      "Requests that two workers might have served, by the rule that decided: split means that two"
          + " do. docs/disaggregation.md explains the rules.",
      "rule"),
  UNSPLITTABLE(
      Kind.COUNTER,
      "pointsman_split_unsplittable_total",
      "requests",
      "Requests that two workers cannot serve, by what stands against it.",
      "reason"),
  SPLIT_WAITING(
      Kind.GAUGE,
      "pointsman_split_waiting",
      "requests",
      "Requests that wait for a place on prefill or decode workers that are at their limits."),
  SPLIT_STAGE_SECONDS(
      Kind.HISTOGRAM,
      "pointsman_split_stage_seconds",
      "seconds",
      "Time of each stage of a split request: slot (waiting for a place), prefill, notification"
          + " (waiting for the engines' word), decode (to the head of its answer).",
      "stage"),
  SPLIT_PREFILLS(
      Kind.COUNTER,
      "pointsman_split_prefills_total",
      "prefills",
      "Prefills of split requests, by how they ended.",
      "end"),
  SPLIT_HANDOVERS(
      Kind.COUNTER,
      "pointsman_split_handovers_total",
      "hand-overs",
      "Hand-overs of split requests, by what became of them.",
      "end");

  @SuppressWarnings("ImmutableEnumChecker") // its list is a List.copyOf
  private final About about;

  RequestMetric(Kind kind, String metricName, String unit, String meaning, String... labels) {
    about = new About(kind, metricName, unit, meaning, labels);
  }

  @Override
  public About about() {
    return about;
  }
}
