package io.pointsman.app.metrics;

import java.util.List;

/**
 * Every metric that the router exposes under its own names: the one list from which the meters are
 * made and {@code docs/metrics.md} is written. Each label has a bounded set of values.
 */
enum Metric {
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
      "end"),
  DECISIONS(
      Kind.COUNTER,
      "pointsman_policy_decisions_total",
      "placements",
      "Requests placed on a worker, by the reason of the choice.",
      "policy",
      "reason"),
  POLICY_FAILURES(
      Kind.COUNTER,
      "pointsman_policy_failures_total",
      "failures",
      "Times a policy threw; the request was placed by least load. Always a bug."),
  REJECTS(
      Kind.COUNTER,
      "pointsman_rejects_total",
      "requests",
      "Times no worker could be chosen, by reason.",
      "reason"),
  PREFIX_MATCH_RATIO(
      Kind.HISTOGRAM,
      "pointsman_prefix_match_ratio",
      "ratio",
      "Share of the prompt that the chosen worker was thought to hold, for policies that look."),
  PREDICTED_TTFT(
      Kind.HISTOGRAM,
      "pointsman_predicted_ttft_seconds",
      "seconds",
      "First tokens that the policy predicted, from the placement on: when they were expected"
          + " (predicted), when they came (measured).",
      "kind"),
  TTFT_ERROR(
      Kind.HISTOGRAM,
      "pointsman_ttft_prediction_error_seconds",
      "seconds",
      "By how much predictions of first tokens were wrong: early if they were expected before they"
          + " came, else late. Bias is the sum of late less that of early.",
      "side"),
  HIT_ERROR(
      Kind.HISTOGRAM,
      "pointsman_hit_prediction_error_ratio",
      "ratio",
      "By how much the share of the prompt that was expected in the worker's cache differs from the"
          + " share that the worker found: over if too much was expected, else under. Of requests"
          + " whose worker told, and was chosen by what workers hold.",
      "side"),
  PROMPT_TOKENS(
      Kind.COUNTER,
      "pointsman_prompt_tokens_total",
      "tokens",
      "Prompt tokens of requests that ended well, for policies that predict: all (prompt), those"
          + " thought to be in the worker's cache (expected), those found there (cached).",
      "kind"),
  LOST_HITS(
      Kind.COUNTER,
      "pointsman_lost_hits_total",
      "requests",
      "Requests of which a part of the prompt had to be computed, by why it was not found in a"
          + " cache. A request counts once for each reason; docs/routing-quality.md defines them.",
      "reason"),
  LOST_HIT_TOKENS(
      Kind.COUNTER,
      "pointsman_lost_hit_tokens_total",
      "tokens",
      "Prompt tokens that had to be computed, by why they were not found in a cache.",
      "reason"),
  SHADOW_PLACEMENTS(
      Kind.COUNTER,
      "pointsman_shadow_placements_total",
      "requests",
      "Requests that the shadow policy decided on: agreed with the acting policy, differed from it,"
          + " refused (it found nobody), dropped (it could not keep up).",
      "result"),
  SHADOW_TOKENS(
      Kind.COUNTER,
      "pointsman_shadow_prompt_tokens_total",
      "tokens",
      "Prompt tokens of these requests (prompt), and those expected in their workers' caches"
          + " (held), as placed by the acting policy and as the shadow policy would have placed"
          + " them.",
      "side",
      "kind"),
  SHADOW_TTFT(
      Kind.COUNTER,
      "pointsman_shadow_predicted_ttft_seconds_total",
      "seconds",
      "Sum of the times to first token that are expected of these requests under either policy.",
      "side"),
  SHADOW_IMBALANCE(
      Kind.GAUGE,
      "pointsman_shadow_imbalance",
      "ratio",
      "Prompt tokens that the busiest worker had to compute of late under either policy, in parts"
          + " of the mean; 1 is even.",
      "side"),
  SHADOW_FAILURES(
      Kind.COUNTER,
      "pointsman_shadow_failures_total",
      "failures",
      "Times the shadow policy threw. Always a bug; nobody is served worse for it."),
  PREFIX_INDEX_BYTES(
      Kind.GAUGE,
      "pointsman_prefix_index_bytes",
      "bytes",
      "Memory that the prefix index holds now."),
  PREFIX_INDEX_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_prefix_index_max_bytes",
      "bytes",
      "Memory that the prefix index may hold at most; of cost.max-bytes half."),
  PREFIX_INDEX_BLOCKS(
      Kind.GAUGE,
      "pointsman_prefix_index_blocks",
      "blocks",
      "Blocks that the prefix index knows, each counted once."),
  PREFIX_INDEX_EVICTIONS(
      Kind.COUNTER,
      "pointsman_prefix_index_evictions_total",
      "blocks",
      "Blocks that the prefix index has forgotten to make room for others within its memory."),
  COST_CACHE_BYTES(
      Kind.GAUGE,
      "pointsman_cost_cache_bytes",
      "bytes",
      "Memory that cost's models of workers' caches hold. Near its bound they forget prompts early,"
          + " which counts as evicted among lost hits: raise cost.max-bytes."),
  COST_CACHE_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_cost_cache_max_bytes",
      "bytes",
      "Memory that they may hold at most: cost.max-bytes without the prefix index's half and what"
          + " is of fixed size."),
  KV_INDEX_BYTES(
      Kind.GAUGE,
      "pointsman_kv_index_bytes",
      "bytes",
      "Memory of what workers announced of their caches."),
  KV_INDEX_MAX_BYTES(
      Kind.GAUGE, "pointsman_kv_index_max_bytes", "bytes", "Memory that it may take at most."),
  KV_INDEX_BLOCKS(
      Kind.GAUGE,
      "pointsman_kv_index_blocks",
      "blocks",
      "Engines' blocks known from announcements that a prompt can match, each counted for every"
          + " worker and tier."),
  KV_INDEX_REFUSED(
      Kind.GAUGE,
      "pointsman_kv_index_refused_blocks",
      "blocks",
      "Announced blocks of the present workers that found no room."),
  KV_LOOKUPS(
      Kind.COUNTER,
      "pointsman_kv_lookups_total",
      "prompts",
      "Prompts that kv_aware looked up: hit (a worker that could be chosen announced a part of it),"
          + " miss, not_announced (no such worker announces anything), unknown_tokens (text whose"
          + " token ids are not known, or a salt).",
      "outcome"),
  KV_TOKEN_REQUESTS(
      Kind.COUNTER,
      "pointsman_kv_token_requests_total",
      "prompts",
      "Prompts of text whose token ids an engine was to be asked for: learned, unusable (an answer"
          + " without ids, or with content beside text), refused (as malformed), failed (no answer"
          + " in time, or an error), nobody (no engine has a route for it, or all rest after"
          + " failures), dropped (no room to wait).",
      "result"),
  KV_TEXTS(
      Kind.COUNTER,
      "pointsman_kv_texts_total",
      "prompts",
      "Times that the ids of a prompt of text were looked up: whole (known to its end), part (as"
          + " far as an earlier prompt), unknown.",
      "known"),
  KV_TEXTS_BYTES(
      Kind.GAUGE,
      "pointsman_kv_texts_bytes",
      "bytes",
      "Memory of what is known of texts' token ids."),
  KV_TEXTS_MAX_BYTES(
      Kind.GAUGE, "pointsman_kv_texts_max_bytes", "bytes", "Memory that it may take at most."),
  KV_EVENTS(
      Kind.COUNTER,
      "pointsman_kv_events_total",
      "events",
      "What engines announced of their KV caches: stored, removed, cleared, passed_over (of kinds"
          + " that are not known).",
      "kind"),
  KV_EVENT_BATCHES(
      Kind.COUNTER,
      "pointsman_kv_event_batches_total",
      "batches",
      "Batches of announcements: taken, malformed, wrong_rank, repeated (they had come before).",
      "result"),
  KV_EVENT_GAPS(
      Kind.COUNTER, "pointsman_kv_event_gaps_total", "gaps", "Times that batches were missing."),
  KV_EVENT_REPLAYS(
      Kind.COUNTER,
      "pointsman_kv_event_replays_total",
      "replays",
      "Times that a publisher was asked to repeat batches: complete, partial (it had forgotten the"
          + " first of them), failed.",
      "result"),
  KV_EVENT_RESETS(
      Kind.COUNTER,
      "pointsman_kv_event_resets_total",
      "resets",
      "Times that what was announced of a cache was forgotten: gap (batches are missing for good),"
          + " restart (of the publisher, as far as can be told), malformed, defect (of the router),"
          + " gone (the worker left).",
      "reason"),
  KV_EVENT_CONNECTS(
      Kind.COUNTER,
      "pointsman_kv_event_connects_total",
      "connections",
      "Connections made to publishers."),
  KV_EVENT_SOURCES(
      Kind.GAUGE,
      "pointsman_kv_event_sources",
      "sources",
      "Publishers that are followed; one for each rank.",
      "worker"),
  KV_EVENT_LIVE(
      Kind.GAUGE,
      "pointsman_kv_event_sources_live",
      "sources",
      "Those of them that are heard without anything missing at the moment.",
      "worker"),
  KV_EVENT_LAG(
      Kind.GAUGE,
      "pointsman_kv_event_lag_seconds",
      "seconds",
      "Age of the last batch when it came, by the clocks of engine and router; of several ranks the"
          + " greatest.",
      "worker"),
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
      "1 if the worker's probes are good.",
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
      "worker"),
  BUILD_INFO(
      Kind.INFO,
      "pointsman_build_info",
      "1",
      "Always 1; the labels say what runs.",
      "version",
      "java"),
  TRACE_SPANS(
      Kind.COUNTER,
      "pointsman_trace_spans_total",
      "spans",
      "Spans of traced requests, by what became of them: exported, failed (the collector did not"
          + " take them), dropped (too many were waiting).",
      "result"),
  CAPTURED_REQUESTS(
      Kind.COUNTER,
      "pointsman_captured_requests_total",
      "requests",
      "Answered requests for the trace of --trace-out: written, dropped (too many were waiting),"
          + " failed (the disk did not take them).",
      "result"),
  PROCESS_CPU(
      Kind.COUNTER,
      "process_cpu_seconds_total",
      "seconds",
      "Processor time that the process has used, user and system."),
  PROCESS_START(
      Kind.GAUGE,
      "process_start_time_seconds",
      "seconds",
      "When the process started, in seconds since 1970."),
  PROCESS_RESIDENT(
      Kind.GAUGE, "process_resident_memory_bytes", "bytes", "Resident memory of the process."),
  PROCESS_OPEN_FDS(Kind.GAUGE, "process_open_fds", "descriptors", "Open file descriptors."),
  PROCESS_MAX_FDS(
      Kind.GAUGE, "process_max_fds", "descriptors", "Most file descriptors that may be open."),
  JVM_MEMORY_USED(Kind.GAUGE, "jvm_memory_used_bytes", "bytes", "Memory in use, by area.", "area"),
  JVM_MEMORY_MAX(
      Kind.GAUGE,
      "jvm_memory_max_bytes",
      "bytes",
      "Most memory, by area; -1 if without limit.",
      "area"),
  JVM_BUFFERS(
      Kind.GAUGE, "jvm_buffer_pool_used_bytes", "bytes", "Memory in NIO buffers, by pool.", "pool"),
  JVM_THREADS(Kind.GAUGE, "jvm_threads_current", "threads", "Live platform threads."),
  JVM_GC_SECONDS(
      Kind.COUNTER,
      "jvm_gc_collection_seconds_total",
      "seconds",
      "Time spent in collections, by collector.",
      "gc"),
  JVM_GC_COLLECTIONS(
      Kind.COUNTER, "jvm_gc_collections_total", "collections", "Collections, by collector.", "gc");

  /** How values of a metric behave. */
  enum Kind {
    COUNTER,
    GAUGE,
    HISTOGRAM,
    /** A gauge that is always 1. */
    INFO
  }

  private final Kind kind;
  private final String metricName;
  private final String unit;
  private final String meaning;

  @SuppressWarnings("ImmutableEnumChecker") // made by List.of
  private final List<String> labels;

  Metric(Kind kind, String metricName, String unit, String meaning, String... labels) {
    this.kind = kind;
    this.metricName = metricName;
    this.unit = unit;
    this.meaning = meaning;
    this.labels = List.of(labels);
  }

  Kind kind() {
    return kind;
  }

  String metricName() {
    return metricName;
  }

  String unit() {
    return unit;
  }

  String meaning() {
    return meaning;
  }

  List<String> labels() {
    return labels;
  }

  String[] labelNames() {
    return labels.toArray(new String[0]);
  }
}
