package io.pointsman.config.value;

import io.pointsman.config.settings.DiscoverySettings.DnsName;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A name in DNS that stands for workers: a group of keys, {@code name:port}, or an SRV name. */
final class DnsNamesType implements ValueType<DnsName> {
  private static final Pattern NAME =
      Pattern.compile("(?=.{1,254}$)[A-Za-z0-9_-]{1,63}(\\.[A-Za-z0-9_-]{1,63})*\\.?");
  private static final Pattern ADDRESS = Pattern.compile("[0-9.]+");
  private static final String EXPECTED =
      "name:port, the name of SRV records such as _http._tcp.engines, or a group with name, port or"
          + " srv, interval, tries, and keys of a worker without url, id and resolve";
  private static final List<String> OWN = List.of("name", "port", "srv", "interval", "tries");
  private static final List<String> NOT_OF_A_NAME = List.of("url", "id", Resolve.LABEL);

  private static final ValueType<Integer> PORT = ValueTypes.integer(1, 65_535);
  private static final ValueType<Integer> TRIES = ValueTypes.integer(1, 1000);
  private static final ValueType<Boolean> SRV = ValueTypes.bool();
  private static final ValueType<Duration> INTERVAL =
      ValueTypes.duration(Duration.ofSeconds(1), Duration.ofDays(1));
  private static final WorkerType WORKER = new WorkerType();

  static ValueType<List<DnsName>> list() {
    return new ValueTypes.ListType<>(
        "<name:port>", "a list, each " + EXPECTED, new DnsNamesType(), ValueTypes::commaSeparated);
  }

  @Override
  public DnsName read(RawValue raw) {
    return switch (raw) {
      case RawValue.Scalar(String text, String where) -> fromText(text.strip(), where);
      case RawValue.Entries(Map<String, RawValue> entries, _) -> fromEntries(entries);
      case RawValue.Items _ ->
          throw new IllegalArgumentException("a list (expected: " + EXPECTED + ")");
    };
  }

  private static DnsName fromText(String text, String where) {
    Map<String, RawValue> entries = new LinkedHashMap<>();
    int colon = text.lastIndexOf(':');
    if (text.startsWith("_") && colon < 0) {
      entries.put("name", new RawValue.Scalar(text, where));
      entries.put("srv", new RawValue.Scalar("true", where));
    } else if (colon > 0) {
      entries.put("name", new RawValue.Scalar(text.substring(0, colon), where));
      entries.put("port", new RawValue.Scalar(text.substring(colon + 1), where));
    } else {
      throw new IllegalArgumentException(text + " (expected: " + EXPECTED + ")");
    }
    return fromEntries(entries);
  }

  private static DnsName fromEntries(Map<String, RawValue> entries) {
    Map<String, RawValue> own = new LinkedHashMap<>();
    Map<String, RawValue> ofWorker = new LinkedHashMap<>();
    entries.forEach((key, value) -> (OWN.contains(key) ? own : ofWorker).put(key, value));
    for (String key : NOT_OF_A_NAME) {
      if (ofWorker.containsKey(key)) {
        throw new IllegalArgumentException(
            key + ": set (expected: name and port, or name and srv)");
      }
    }
    String name = name(own.get("name"));
    boolean srv = given("srv", SRV, own, false);
    int port = given("port", PORT, own, 0);
    if (srv == (port > 0)) {
      throw new IllegalArgumentException(
          srv
              ? "port: set with srv (expected: one of them; SRV records name the ports)"
              : "port: missing (expected: the port of the engines, or srv: true)");
    }
    ofWorker.put("id", new RawValue.Scalar(srv ? name : name + ":" + port, ""));
    ofWorker.put("url", new RawValue.Scalar("http://name:80", ""));
    return new DnsName(
        name,
        port,
        srv,
        given("interval", INTERVAL, own, DnsName.INTERVAL),
        given("tries", TRIES, own, DnsName.TRIES),
        WORKER.read(new RawValue.Entries(ofWorker, "")));
  }

  private static String name(@Nullable RawValue raw) {
    if (raw instanceof RawValue.Scalar(String text, _)) {
      if (ADDRESS.matcher(text).matches()) {
        throw new IllegalArgumentException(
            "name: " + text + " (expected: a name; workers lists addresses)");
      }
      if (NAME.matcher(text).matches()) {
        return text;
      }
      throw new IllegalArgumentException("name: " + text + " (expected: a name in DNS)");
    }
    throw new IllegalArgumentException("name: missing (expected: a name in DNS)");
  }

  private static <T> T given(String key, ValueType<T> type, Map<String, RawValue> all, T usual) {
    RawValue raw = all.get(key);
    try {
      return raw == null ? usual : type.read(raw);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(key + ": " + e.getMessage(), e);
    }
  }

  @Override
  public String format(DnsName value) {
    List<String> parts = new ArrayList<>();
    parts.add("name: " + ValueTypes.quoted(value.name()));
    parts.add(value.srv() ? "srv: true" : "port: " + value.port());
    parts.add("interval: " + INTERVAL.format(value.interval()));
    parts.add("tries: " + value.tries());
    WorkerType.properties(value.worker()).forEach((key, text) -> parts.add(key + ": " + text));
    return "{" + String.join(", ", parts) + "}";
  }

  @Override
  public String expected() {
    return EXPECTED;
  }

  @Override
  public String label() {
    return "<name:port>";
  }
}
