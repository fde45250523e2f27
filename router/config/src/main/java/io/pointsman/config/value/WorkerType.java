package io.pointsman.config.value;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The type of a worker: its URL, or a group of keys that includes the URL. */
final class WorkerType implements ValueType<WorkerSpec> {
  /** Keys of labels. */
  private static final List<String> LABELS =
      Stream.of(
              PeerLabels.ALL,
              List.of(
                  WorkerSpec.NODE_LABEL,
                  WorkerSpec.ZONE_LABEL,
                  Resolve.LABEL,
                  WorkerSpec.WEIGHT_LABEL),
              EngineTlsSettings.LABELS)
          .flatMap(List::stream)
          .toList();

  private static final List<String> KEYS =
      Stream.concat(
              Stream.of("url", "id", "role", "model", "models", "max-in-flight", "rank", "labels"),
              LABELS.stream())
          .toList();
  private static final ValueType<List<String>> MODELS = ValueTypes.texts("<model>", "model names");
  private static final ValueType<String> MODEL =
      ValueTypes.text("<model>", "the name of a model", false);
  private static final ValueType<Role> ROLE = ValueTypes.constant(Role.class);
  private static final ValueType<Resolve> RESOLVE = ValueTypes.constant(Resolve.class);
  private static final ValueType<Double> WEIGHT =
      ValueTypes.decimal(WorkerSpec.LEAST_WEIGHT, WorkerSpec.MOST_WEIGHT);
  private static final ValueType<Integer> COUNT = ValueTypes.integer(0, Integer.MAX_VALUE);
  private static final ValueType<String> TEXT = ValueTypes.text("<text>", "a string", true);

  /** A list of workers; a flag can be repeated or contain several URLs, separated by commas. */
  static ValueType<List<WorkerSpec>> list() {
    return new ValueTypes.ListType<>(
        "<url>",
        "a list of workers, each a URL or a group with url, id, role, model or models,"
            + " max-in-flight, rank, weight, bootstrap-port, kv-address, receiver, node, zone,"
            + " resolve, tls-ca-file and other tls keys, labels",
        new WorkerType(),
        scalar -> {
          List<RawValue> urls = new ArrayList<>();
          for (String url : scalar.text().split("[,\\s]+", -1)) {
            if (!url.isBlank()) {
              urls.add(new RawValue.Scalar(url, scalar.where()));
            }
          }
          return urls;
        });
  }

  @Override
  public WorkerSpec read(RawValue raw) {
    return switch (raw) {
      case RawValue.Scalar(String text, _) -> WorkerSpec.of(url(text));
      case RawValue.Entries(Map<String, RawValue> entries, _) -> fromEntries(entries);
      case RawValue.Items _ ->
          throw new IllegalArgumentException("a list (expected: " + expected() + ")");
    };
  }

  private static WorkerSpec fromEntries(Map<String, RawValue> entries) {
    for (String key : entries.keySet()) {
      if (!KEYS.contains(key)) {
        throw new IllegalArgumentException(key + ": unknown key" + Nearest.hint(key, KEYS));
      }
    }
    RawValue writtenUrl = entries.get("url");
    if (writtenUrl == null) {
      throw new IllegalArgumentException("url: missing (expected: http://host:port)");
    }
    String url = url(named("url", TEXT, writtenUrl));
    int rank = entries.containsKey("rank") ? number(entries, "rank") : WorkerSpec.NO_RANK;
    String defaultId = WorkerSpec.idOf(url) + (rank == WorkerSpec.NO_RANK ? "" : "@" + rank);
    RawValue id = entries.get("id");
    RawValue role = entries.get("role");
    return new WorkerSpec(
        id == null ? defaultId : named("id", TEXT, id),
        url,
        role == null ? Role.REGULAR : named("role", ROLE, role),
        models(entries.get("model"), entries.get("models")),
        rank,
        number(entries, "max-in-flight"),
        peerLabels(entries, labels(entries.get("labels"))));
  }

  /** Adds the keys for location, TLS and peer data to the labels. */
  private static Map<String, String> peerLabels(
      Map<String, RawValue> entries, Map<String, String> labels) {
    Map<String, String> all = new LinkedHashMap<>(labels);
    for (String name : LABELS) {
      RawValue raw = entries.get(name);
      if (raw != null) {
        all.put(name, named(name, TEXT, raw));
      }
    }
    RawValue resolve = entries.get(Resolve.LABEL);
    if (resolve != null) {
      all.put(Resolve.LABEL, RESOLVE.format(named(Resolve.LABEL, RESOLVE, resolve)));
    }
    String weight = all.get(WorkerSpec.WEIGHT_LABEL);
    if (weight != null) {
      double _ = named(WorkerSpec.WEIGHT_LABEL, WEIGHT, new RawValue.Scalar(weight, ""));
    }
    Peer _ = PeerLabels.addTo(Peer.UNKNOWN, all);
    return all;
  }

  private static int number(Map<String, RawValue> entries, String key) {
    RawValue raw = entries.get(key);
    return raw == null ? 0 : named(key, COUNT, raw);
  }

  /** One name in the short form, or a list. */
  private static Set<String> models(@Nullable RawValue one, @Nullable RawValue raw) {
    if (one != null) {
      if (raw != null) {
        throw new IllegalArgumentException("model: set with models (expected: one of them)");
      }
      return Set.of(named("model", MODEL, one));
    }
    return raw == null ? Set.of() : Set.copyOf(named("models", MODELS, raw));
  }

  private static Map<String, String> labels(@Nullable RawValue raw) {
    return switch (raw) {
      case null -> Map.of();
      case RawValue.Entries(Map<String, RawValue> entries, _) -> {
        Map<String, String> labels = new LinkedHashMap<>();
        entries.forEach((key, value) -> labels.put(key, named("labels." + key, TEXT, value)));
        yield labels;
      }
      case RawValue.Scalar _, RawValue.Items _ ->
          throw new IllegalArgumentException(
              "labels: " + ValueTypes.shown(raw) + " (expected: names with values)");
    };
  }

  private static <T> T named(String key, ValueType<T> type, RawValue raw) {
    try {
      return type.read(raw);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(key + ": " + e.getMessage(), e);
    }
  }

  /** The base URL of an engine, without a trailing slash. */
  private static String url(String text) {
    String problem = WorkerSpec.problemOfUrl(text);
    if (problem != null) {
      throw new IllegalArgumentException(
          WorkerSpec.shown(text)
              + ": "
              + problem
              + " (expected: http://host:port with an optional path)");
    }
    return text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
  }

  @Override
  public String format(WorkerSpec worker) {
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put("url", ValueTypes.quoted(worker.url()));
    parts.put("id", ValueTypes.quoted(worker.id()));
    parts.putAll(properties(worker));
    StringBuilder out = new StringBuilder("{");
    parts.forEach(
        (key, value) ->
            out.append(out.length() > 1 ? ", " : "").append(key).append(": ").append(value));
    return out.append("}").toString();
  }

  /** The printed properties beside id and URL, by key; those with their default are left out. */
  static Map<String, String> properties(WorkerSpec worker) {
    Map<String, String> parts = new LinkedHashMap<>();
    if (worker.role() != Role.REGULAR) {
      parts.put("role", ROLE.format(worker.role()));
    }
    if (!worker.models().isEmpty()) {
      parts.put("models", MODELS.format(List.copyOf(new TreeSet<>(worker.models()))));
    }
    if (worker.maxInFlight() > 0) {
      parts.put("max-in-flight", Integer.toString(worker.maxInFlight()));
    }
    if (worker.rank() != WorkerSpec.NO_RANK) {
      parts.put("rank", Integer.toString(worker.rank()));
    }
    if (!worker.labels().isEmpty()) {
      parts.put("labels", flow(new TreeMap<>(worker.labels())));
    }
    return parts;
  }

  private static String flow(Map<String, String> labels) {
    StringBuilder out = new StringBuilder("{");
    labels.forEach(
        (key, value) ->
            out.append(out.length() > 1 ? ", " : "")
                .append(ValueTypes.quoted(key))
                .append(": ")
                .append(ValueTypes.quoted(value)));
    return out.append("}").toString();
  }

  @Override
  public String expected() {
    return "http://host:port, or a group with url, id, role, model or models, max-in-flight, rank,"
        + " weight, bootstrap-port, kv-address, receiver, node, zone, resolve, tls-ca-file"
        + " and other tls keys, labels";
  }

  @Override
  public String label() {
    return "<url>";
  }
}
