package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;

import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.KvEventLabels;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Flags of vllm-router 0.1.17 for the KV-event publishers of engines. With {@code kv_aware} the
 * router queries all other engines for their publishers.
 */
final class KvEventFlags {
  private static final String KV_AWARE = "kv_aware";
  private static final String FORM = "URL=tcp://host:port[,tcp://host:port...]";
  private static final String REMARK =
      "the first endpoint is rank 0, the next rank 1, and so on; other engines are asked for theirs"
          + " (docs/kv-events.md)";

  private KvEventFlags() {}

  static List<Flag> all() {
    return List.of(
        flag("--pd-kv-events", "KV event endpoints of a prefill engine")
            .shape(Shape.REPEATED)
            .honoured(REMARK, sources(KvEventLabels.EVENTS)),
        flag("--kv-event-source", "KV event endpoints of an engine")
            .shape(Shape.REPEATED)
            .honoured(REMARK, sources(KvEventLabels.EVENTS)),
        flag("--kv-event-replay-source", "replay endpoints of an engine")
            .shape(Shape.REPEATED)
            .honoured("one for each KV event endpoint", sources(KvEventLabels.REPLAY)),
        flag("--kv-event-block-size", "tokens per block for static endpoints")
            .standard("16")
            .idle("each event contains its block size"),
        flag("--kv-event-model", "model of static endpoints")
            .idle("the router learns the models from the workers"));
  }

  private static Effect.Action sources(String label) {
    return (given, into) -> {
      for (String value : given.values()) {
        int equals = value.indexOf('=');
        String url = equals < 0 ? "" : Urls.trimmed(value.substring(0, equals));
        String endpoints = value.substring(equals + 1).replace(',', ' ').strip();
        boolean good = Urls.valid(url) && KvEventLabels.valid(endpoints);
        if (good) {
          into.eventLabels().computeIfAbsent(url, _ -> new HashMap<>()).put(label, endpoints);
          into.eventFlags().putIfAbsent(url, given.flag());
        } else {
          into.problem(given, WorkerSpec.shown(value), FORM);
        }
      }
    };
  }

  /** Adds the publishers to the workers as labels; called after all flags are read. */
  static List<WorkerSpec> settle(List<WorkerSpec> workers, Translation into) {
    ConfigValues values = into.values();
    boolean follows =
        Stream.of(RoutingKeys.POLICY, DisaggKeys.PREFILL_POLICY, DisaggKeys.DECODE_POLICY)
            .anyMatch(key -> values.get(key).equals(KV_AWARE));
    if (follows) {
      KvEventLabels.askOthers(values);
    }
    Map<String, Map<String, String>> added = into.eventLabels();
    for (Map.Entry<String, Map<String, String>> each : added.entrySet()) {
      String problem =
          !follows
              ? "(expected: with kv_aware as --policy, --prefill-policy or --decode-policy)"
              : workers.stream().noneMatch(worker -> worker.url().equals(each.getKey()))
                  ? "(expected: the URL of a worker)"
                  : KvEventLabels.problem(each.getValue());
      if (!problem.isEmpty()) {
        into.problems()
            .add(into.eventFlags().get(each.getKey()) + ": " + each.getKey() + " " + problem);
      }
    }
    return workers.stream().map(worker -> labelled(worker, added)).toList();
  }

  private static WorkerSpec labelled(WorkerSpec worker, Map<String, Map<String, String>> added) {
    Map<String, String> labels = new HashMap<>(worker.labels());
    labels.putAll(added.getOrDefault(worker.url(), Map.of()));
    return labels.equals(worker.labels()) ? worker : worker.withLabels(labels);
  }
}
