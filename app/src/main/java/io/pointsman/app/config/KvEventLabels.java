package io.pointsman.app.config;

import io.pointsman.app.config.key.KvEventKeys;
import io.pointsman.app.kvevents.KvEventSettings;
import io.pointsman.app.kvevents.wire.Endpoint;
import java.util.Arrays;
import java.util.Map;

/** Labels by which a worker's publishers are known, for launchers that are told of each. */
public final class KvEventLabels {
  /** Endpoints of the worker's publishers, separated by blanks; the first is that of rank 0. */
  public static final String EVENTS = KvEventSettings.EVENTS_LABEL;

  /** As many endpoints at which they repeat batches. */
  public static final String REPLAY = KvEventSettings.REPLAY_LABEL;

  private KvEventLabels() {}

  /** Has workers without these labels asked where they publish. */
  public static void askOthers(ConfigValues values) {
    values.set(KvEventKeys.MODE, KvEventSettings.Mode.AUTO);
  }

  /** Whether {@code value} can be that of such a label. */
  public static boolean valid(String value) {
    return Arrays.stream(value.split("\\s+", -1)).allMatch(Endpoint::isOne);
  }

  /** What is wrong with a worker's labels; empty if nothing is. */
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
