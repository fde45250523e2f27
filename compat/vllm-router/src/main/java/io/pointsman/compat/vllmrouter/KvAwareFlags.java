package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;
import static io.pointsman.compat.vllmrouter.Translation.as;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.KvAwareKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.policy.session.SessionAffinity;
import java.time.Duration;
import java.util.List;

/** Flags of vllm-router 0.1.17 for the policy {@code kv_aware}. */
final class KvAwareFlags {
  private static final String AFFINITY = "--kv-aware-session-affinity-ttl-secs";
  private static final String KV_AWARE = "kv_aware";

  private KvAwareFlags() {}

  static List<Flag> all() {
    return List.of(
        flag("--router-temperature", "randomness of the choice of kv_aware")
            .standard("0.0")
            .honoured(as(KvAwareKeys.TEMPERATURE)),
        flag("--kv-penalty-host", "value of cached blocks in host memory")
            .standard("0.8")
            .honoured(as(KvAwareKeys.HOST_CREDIT)),
        flag("--kv-penalty-external", "value of cached blocks in a shared pool")
            .standard("0.6")
            .honoured(as(KvAwareKeys.EXTERNAL_CREDIT)),
        flag("--kv-penalty-disk", "value of cached blocks on disk")
            .standard("0.3")
            .honoured(as(KvAwareKeys.DISK_CREDIT)),
        flag(AFFINITY, "idle time in seconds after which a kv_aware session ends")
            .honoured(
                "session ids are found as in docs/session-affinity.md; the mode is hard, with"
                    + " prefill and decode soft",
                KvAwareFlags::affinity));
  }

  private static void affinity(Given given, Translation into) {
    long seconds = into.whole(given, 1, 31_536_000);
    if (seconds > 0) {
      into.values().set(RoutingKeys.STICKY_IDLE, Duration.ofSeconds(seconds));
      into.values().set(RoutingKeys.SESSION_AFFINITY, SessionAffinity.Mode.HARD);
    }
  }

  /** Combines the flags; called after all flags are read. */
  static void settle(Translation into) {
    ConfigValues values = into.values();
    if (!values.has(RoutingKeys.SESSION_AFFINITY)) {
      return;
    }
    if (into.pd().on()) {
      values.set(RoutingKeys.SESSION_AFFINITY, SessionAffinity.Mode.SOFT);
    }
    boolean follows =
        into.pd().on()
            ? values.get(DisaggKeys.PREFILL_POLICY).equals(KV_AWARE)
                || values.get(DisaggKeys.DECODE_POLICY).equals(KV_AWARE)
            : values.get(RoutingKeys.POLICY).equals(KV_AWARE);
    if (!follows) {
      into.problems().add(AFFINITY + ": given without --policy kv_aware");
    }
  }
}
