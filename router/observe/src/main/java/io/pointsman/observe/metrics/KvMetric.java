package io.pointsman.observe.metrics;

/** Metrics of KV events, the KV index, and token ids of texts. */
enum KvMetric implements Metric {
  KV_INDEX_BYTES(
      Kind.GAUGE,
      "pointsman_kv_index_bytes",
      "bytes",
      "Memory in use by the index of blocks from KV events."),
  KV_INDEX_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_kv_index_max_bytes",
      "bytes",
      "Maximum memory of the index of blocks from KV events."),
  KV_INDEX_BLOCKS(
      Kind.GAUGE,
      "pointsman_kv_index_blocks",
      "blocks",
      "Blocks in the index of KV events that a prompt can match. Each block counts once per worker"
          + " and tier."),
  KV_INDEX_REFUSED(
      Kind.GAUGE,
      "pointsman_kv_index_refused_blocks",
      "blocks",
      "Blocks from KV events that did not fit into the index, for current workers."),
  KV_LOOKUPS(
      Kind.COUNTER,
      "pointsman_kv_lookups_total",
      "prompts",
      "Prompts that kv_aware looked up. hit: an available worker reported a part of the prompt;"
          + " miss: none did; not_announced: no available worker sends KV events; unknown_tokens:"
          + " the token ids of the text are unknown, or the request has a salt.",
      "outcome"),
  KV_TOKEN_REQUESTS(
      Kind.COUNTER,
      "pointsman_kv_token_requests_total",
      "prompts",
      "Text prompts with a token id request, by result. docs/kv-events.md lists the results.",
      "result"),
  KV_TEXTS(
      Kind.COUNTER,
      "pointsman_kv_texts_total",
      "prompts",
      "Lookups of the token ids of text prompts. complete: all ids are known; partial: the ids are"
          + " known up to the end of an earlier prompt; unknown: no ids are known.",
      "known"),
  KV_TEXTS_BYTES(
      Kind.GAUGE,
      "pointsman_kv_texts_bytes",
      "bytes",
      "Memory in use by known token ids of text prompts."),
  KV_TEXTS_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_kv_texts_max_bytes",
      "bytes",
      "Maximum memory of known token ids of text prompts."),
  KV_EVENTS(
      Kind.COUNTER,
      "pointsman_kv_events_total",
      "events",
      "KV events from engines: stored, removed, cleared, ignored (unknown kind).",
      "kind"),
  KV_EVENT_BATCHES(
      Kind.COUNTER,
      "pointsman_kv_event_batches_total",
      "batches",
      "Batches of KV events. applied: the index contains them; malformed: not readable;"
          + " wrong_rank: from another data-parallel rank; repeated: received before.",
      "result"),
  KV_EVENT_GAPS(
      Kind.COUNTER, "pointsman_kv_event_gaps_total", "gaps", "Gaps in the sequence of batches."),
  KV_EVENT_REPLAYS(
      Kind.COUNTER,
      "pointsman_kv_event_replays_total",
      "replays",
      "Requests to a publisher to repeat batches. complete: all repeated; partial: the first ones"
          + " were no longer available; failed: no repetition.",
      "result"),
  KV_EVENT_RESETS(
      Kind.COUNTER,
      "pointsman_kv_event_resets_total",
      "resets",
      "Resets of the known cache content of a worker. gap: batches are lost; restart: the publisher"
          + " probably restarted; malformed: a batch was not readable; defect: a bug in the router;"
          + " gone: the worker left.",
      "reason"),
  KV_EVENT_CONNECTS(
      Kind.COUNTER,
      "pointsman_kv_event_connects_total",
      "connections",
      "Connections opened to publishers."),
  KV_EVENT_SOURCES(
      Kind.GAUGE,
      "pointsman_kv_event_sources",
      "sources",
      "Publishers of the worker's KV events, one per rank.",
      "worker"),
  KV_EVENT_LIVE(
      Kind.GAUGE,
      "pointsman_kv_event_sources_live",
      "sources",
      "Publishers of the worker with complete events at the moment.",
      "worker"),
  KV_EVENT_LAG(
      Kind.GAUGE,
      "pointsman_kv_event_lag_seconds",
      "seconds",
      "Age of the last batch when it arrived, by the clocks of engine and router. With several"
          + " ranks, the maximum.",
      "worker");

  @SuppressWarnings("ImmutableEnumChecker") // its list is a List.copyOf
  private final About about;

  KvMetric(Kind kind, String metricName, String unit, String meaning, String... labels) {
    about = new About(kind, metricName, unit, meaning, labels);
  }

  @Override
  public About about() {
    return about;
  }
}
