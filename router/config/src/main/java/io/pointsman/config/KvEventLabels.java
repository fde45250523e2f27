package io.pointsman.config;

import io.pointsman.config.key.KvEventKeys;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.ZmqAddress;
import java.util.Arrays;
import java.util.Map;

/** Worker labels for KV-event publishers, for launchers that configure them per worker. */
public final class KvEventLabels {
  /** Endpoints of the worker's publishers, separated by blanks; the first belongs to rank 0. */
  public static final String EVENTS = KvEventSettings.EVENTS_LABEL;

  /** Replay endpoints, one for each publisher. */
  public static final String REPLAY = KvEventSettings.REPLAY_LABEL;

  private KvEventLabels() {}

  /** Makes the router query workers without these labels for their publishers. */
  public static void askOthers(ConfigValues values) {
    values.set(KvEventKeys.MODE, KvEventSettings.Mode.AUTO);
  }

  /** True if {@code value} is valid for these labels. */
  public static boolean valid(String value) {
    return Arrays.stream(value.split("\\s+", -1)).allMatch(ZmqAddress::isOne);
  }

  /** The problem with a worker's labels; empty if they are valid. */
  public static String problem(Map<String, String> labels) {
    String events = labels.getOrDefault(EVENTS, "");
    String replay = labels.getOrDefault(REPLAY, "");
    for (String each : new String[] {events, replay}) {
      if (!each.isEmpty() && !valid(each.strip())) {
        return each + " (expected: tcp://host:port, separated by blanks)";
      }
    }
    boolean alike = replay.isEmpty() || count(replay) == count(events);
    return alike ? "" : "replay endpoints (expected: one for each event endpoint)";
  }

  private static int count(String value) {
    return value.isBlank() ? 0 : value.strip().split("\\s+", -1).length;
  }
}
