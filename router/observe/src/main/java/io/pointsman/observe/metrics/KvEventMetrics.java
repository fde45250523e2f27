package io.pointsman.observe.metrics;

import io.pointsman.control.kvevents.KvEventTally;
import io.pointsman.control.kvevents.KvEventTally.Count;
import io.pointsman.control.kvevents.KvEvents;
import java.util.Map;

/** The metrics of KV events, read at each scrape. */
final class KvEventMetrics {
  private static final Map<Count, String> KINDS =
      Map.of(
          Count.STORED, "stored",
          Count.REMOVED, "removed",
          Count.CLEARED, "cleared",
          Count.PASSED_OVER, "ignored");

  private static final Map<Count, String> BATCHES =
      Map.of(
          Count.BATCHES, "applied",
          Count.MALFORMED, "malformed",
          Count.WRONG_RANK, "wrong_rank",
          Count.REPEATED, "repeated");

  private static final Map<Count, String> REPLAYS =
      Map.of(
          Count.REPLAYS_COMPLETE, "complete",
          Count.REPLAYS_PARTIAL, "partial",
          Count.REPLAYS_FAILED, "failed");

  private static final Map<Count, String> RESETS =
      Map.of(
          Count.RESETS_GAP, "gap",
          Count.RESETS_RESTART, "restart",
          Count.RESETS_MALFORMED, "malformed",
          Count.RESETS_DEFECT, "defect",
          Count.RESETS_GONE, "gone");

  private final KvEvents events;
  private final KvEventTally tally;

  KvEventMetrics(KvEvents events, KvEventTally tally) {
    this.events = events;
    this.tally = tally;
  }

  void register(Meters meters) {
    counts(meters, KvMetric.KV_EVENTS, KINDS);
    counts(meters, KvMetric.KV_EVENT_BATCHES, BATCHES);
    counts(meters, KvMetric.KV_EVENT_REPLAYS, REPLAYS);
    counts(meters, KvMetric.KV_EVENT_RESETS, RESETS);
    meters.pulled(KvMetric.KV_EVENT_GAPS, sink -> sink.put(tally.of(Count.GAPS)));
    meters.pulled(KvMetric.KV_EVENT_CONNECTS, sink -> sink.put(tally.of(Count.CONNECTS)));
    meters.pulled(
        KvMetric.KV_EVENT_SOURCES,
        sink -> events.read((worker, sources, live, lag) -> sink.put(sources, worker)));
    meters.pulled(
        KvMetric.KV_EVENT_LIVE,
        sink -> events.read((worker, sources, live, lag) -> sink.put(live, worker)));
    meters.pulled(
        KvMetric.KV_EVENT_LAG,
        sink -> events.read((worker, sources, live, lag) -> sink.put(lag, worker)));
  }

  private void counts(Meters meters, Metric metric, Map<Count, String> labels) {
    meters.pulled(
        metric, sink -> labels.forEach((count, label) -> sink.put(tally.of(count), label)));
  }
}
