package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.execution.StageSettings;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.Protocols;
import io.pointsman.pd.rule.JointPolicy;
import io.pointsman.pd.rule.SplitSettings;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Settings of prefill and decode on separate workers.
 *
 * @param protocol name of the protocol; {@link #OFF}: all workers serve whole requests
 * @param prefillPolicy policy that chooses prefill workers
 * @param decodePolicy policy that chooses decode workers; {@link JointPolicy#NAME} exists only here
 * @param split rules for splitting requests
 * @param protocols settings of the protocols
 * @param stages timeouts and limits of each stage
 * @param indexMaxBytes memory in bytes for the prefixes cached on decode workers
 */
public record DisaggSettings(
    String protocol,
    String prefillPolicy,
    String decodePolicy,
    SplitSettings split,
    ProtocolSettings protocols,
    StageSettings stages,
    long indexMaxBytes) {
  /** Protocol name for no disaggregation. */
  public static final String OFF = "off";

  /** A cached share of the prompt that is never reached: prefill is never skipped. */
  public static final double NEVER_CACHED = 2;

  public static final DisaggSettings DEFAULTS =
      new DisaggSettings(
          OFF,
          "cache_aware",
          JointPolicy.NAME,
          SplitSettings.DEFAULTS,
          ProtocolSettings.DEFAULTS,
          StageSettings.DEFAULTS,
          64L << 20);

  public DisaggSettings {
    requireNonNull(protocol, "protocol");
    requireNonNull(prefillPolicy, "prefillPolicy");
    requireNonNull(decodePolicy, "decodePolicy");
    requireNonNull(split, "split");
    requireNonNull(protocols, "protocols");
    requireNonNull(stages, "stages");
    if (!Protocols.servesWhole(protocol)) {
      refuseWhole(protocol, split);
    }
  }

  /**
   * Refuses settings that make workers of one role serve whole requests, if the protocol forbids
   * it.
   */
  private static void refuseWhole(String protocol, SplitSettings split) {
    refuse(split.decodeServesWhole(), "decode-can-prefill: true (expected: false", protocol);
    refuse(split.prefillServesWhole(), "prefill-can-decode: true (expected: false", protocol);
    refuse(split.wholeWhenPrefillBusy(), "skip-when-prefill-busy: true (expected: false", protocol);
    refuse(
        split.uncachedThreshold() > 0,
        "uncached-threshold: " + split.uncachedThreshold() + " (expected: 0",
        protocol);
    refuse(
        split.cachedShare() <= 1,
        "cached-share: " + split.cachedShare() + " (expected: above 1",
        protocol);
  }

  private static void refuse(boolean set, String what, String protocol) {
    if (set) {
      throw new IllegalArgumentException(
          what
              + " with "
              + protocol
              + ", because its engines cannot serve a request without a transfer)");
    }
  }

  public boolean enabled() {
    return !protocol.equals(OFF);
  }

  /**
   * The reason why a worker cannot join; null if it can.
   *
   * @param worker the worker with its intended role
   */
  public @Nullable String problem(WorkerSpec worker) {
    boolean fits = enabled() || worker.role() == Role.REGULAR;
    return fits
        ? null
        : "role: "
            + worker.role().name().toLowerCase(Locale.ROOT)
            + " (expected: regular while disaggregation.protocol is off)";
  }
}
