package io.pointsman.app.metrics;

/** Metrics of KV events, the KV index, and token ids of texts. */
enum KvMetric implements Metric {
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
          + " failures), spared (questions have taken `kv-tokens.share` of the time of all engines"
          + " that could be asked), dropped (no room to wait).",
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
