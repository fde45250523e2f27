package io.pointsman.config;

import io.pointsman.config.key.KvEventKeys;
import io.pointsman.config.key.KvTokenKeys;
import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.TokenSettings;

/** Builds the settings of KV events and token ids from values. */
final class KvRecords {
  private KvRecords() {}

  static KvEventSettings kvEvents(ConfigValues values) {
    return new KvEventSettings(
        values.get(KvEventKeys.MODE),
        values.get(KvEventKeys.ENDPOINT),
        values.get(KvEventKeys.REPLAY_ENDPOINT),
        values.get(KvEventKeys.TOPIC),
        values.get(KvEventKeys.RANKS),
        values.get(KvEventKeys.REFRESH),
        new KvEventLimits(
            Math.toIntExact(values.get(KvEventKeys.MAX_MESSAGE)),
            values.get(KvEventKeys.MAX_EVENTS),
            values.get(KvEventKeys.REPLAY_TIMEOUT)));
  }

  static TokenSettings kvTokens(ConfigValues values) {
    return new TokenSettings(
        values.get(KvTokenKeys.ENABLED),
        values.get(KvTokenKeys.SHARE),
        values.get(KvTokenKeys.PARALLELISM),
        values.get(KvTokenKeys.QUEUE),
        values.get(KvTokenKeys.TIMEOUT),
        values.get(KvTokenKeys.MAX_BYTES));
  }
}
