package io.pointsman.config;

import static io.pointsman.config.RecordGroup.group;

import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.PromptListSize;
import io.pointsman.pd.execution.StageSettings;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.Protocols;
import io.pointsman.pd.rule.SplitSettings;

/** Builds the settings of prefill and decode on separate workers. */
final class DisaggRecords {
  private DisaggRecords() {}

  static DisaggSettings from(ConfigValues values) {
    return group(
        "disaggregation",
        () ->
            new DisaggSettings(
                values.get(DisaggKeys.PROTOCOL),
                values.get(DisaggKeys.PREFILL_POLICY),
                values.get(DisaggKeys.DECODE_POLICY),
                split(values),
                protocols(values),
                stages(values),
                values.get(DisaggKeys.INDEX_MAX_BYTES)));
  }

  private static SplitSettings split(ConfigValues values) {
    boolean whole = Protocols.servesWhole(values.get(DisaggKeys.PROTOCOL));
    SplitSettings unset = whole ? SplitSettings.DEFAULTS : SplitSettings.HALVES_ONLY;
    return new SplitSettings(
        values.get(DisaggKeys.THRESHOLD),
        values.get(DisaggKeys.UNCACHED_THRESHOLD),
        or(values, DisaggKeys.CACHED_SHARE, unset.cachedShare()),
        values.get(DisaggKeys.MAX_LOAD_GAP),
        values.get(DisaggKeys.MAX_PENDING_PREFILL),
        or(values, DisaggKeys.DECODE_CAN_PREFILL, unset.decodeServesWhole()),
        values.get(DisaggKeys.PREFILL_CAN_DECODE),
        values.get(DisaggKeys.SKIP_WHEN_PREFILL_BUSY),
        values.get(DisaggKeys.DECODE_WITHOUT_PREFILL),
        new PromptLists(
            Protocols.findsByContent(values.get(DisaggKeys.PROTOCOL)),
            values.get(DisaggKeys.PROMPT_LISTS) == PromptListSize.LENGTH));
  }

  private static <T> T or(ConfigValues values, Key<T> key, T unset) {
    return values.has(key) ? values.get(key) : unset;
  }

  private static ProtocolSettings protocols(ConfigValues values) {
    String receiver = values.get(DisaggKeys.RECEIVER);
    return new ProtocolSettings(
        values.get(DisaggKeys.REMOTE_HOST),
        values.get(DisaggKeys.MIN_TOKENS),
        receiver.isEmpty() ? null : PeerLabels.receiver(receiver),
        values.get(DisaggKeys.LEASE),
        values.get(DisaggKeys.NOTIFICATION_WAIT),
        values.get(DisaggKeys.TURN_TTL),
        values.get(DisaggKeys.MAX_TURNS),
        values.get(DisaggKeys.MAX_TURN_BYTES));
  }

  private static StageSettings stages(ConfigValues values) {
    return new StageSettings(
        values.get(DisaggKeys.PREFILL_TIMEOUT),
        values.get(DisaggKeys.DECODE_TIMEOUT),
        values.get(DisaggKeys.RELEASE_TIMEOUT),
        values.get(DisaggKeys.SLOT_WAIT),
        values.get(DisaggKeys.MAX_WAITING),
        Math.toIntExact(values.get(DisaggKeys.MAX_REPLY_BYTES)),
        values.get(DisaggKeys.HANDOVER_REUSE));
  }
}
