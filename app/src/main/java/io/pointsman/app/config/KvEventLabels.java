package io.pointsman.app.config;

import io.pointsman.app.kvevents.KvEventSettings;

/** Labels by which a worker's publishers are known, for launchers that are told of each. */
public final class KvEventLabels {
  /** Endpoints of the worker's publishers, separated by blanks; the first is that of rank 0. */
  public static final String EVENTS = KvEventSettings.EVENTS_LABEL;

  /** As many endpoints at which they repeat batches. */
  public static final String REPLAY = KvEventSettings.REPLAY_LABEL;

  private KvEventLabels() {}
}
