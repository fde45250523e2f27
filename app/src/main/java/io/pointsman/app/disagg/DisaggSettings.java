package io.pointsman.app.disagg;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.disagg.JointPolicy;
import io.pointsman.engine.disagg.SplitSettings;
import io.pointsman.engine.disagg.protocol.ProtocolSettings;
import io.pointsman.engine.disagg.protocol.Protocols;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.split.StageSettings;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Whether and how requests are served by two workers.
 *
 * @param protocol name of the protocol, or {@link #OFF}: then all workers serve whole requests
 * @param prefillPolicy name of the policy that chooses prefill workers
 * @param decodePolicy name of the policy that chooses decode workers; {@link JointPolicy#NAME} is
 *     one for these alone
 * @param split which requests are split
 * @param protocols the knobs of the protocols
 * @param stages how long each stage may take
 * @param indexMaxBytes memory of what decode workers are known to hold
 */
public record DisaggSettings(
    String protocol,
    String prefillPolicy,
    String decodePolicy,
    SplitSettings split,
    ProtocolSettings protocols,
    StageSettings stages,
    long indexMaxBytes) {
  /** In place of a protocol's name: there is none. */
  public static final String OFF = "off";

  /** A share of the prompt that no worker holds: prefill is never skipped for it. */
  public static final double NEVER_HELD = 2;

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

  /** What has workers of one role serve whole requests under a protocol that does not allow it. */
  private static void refuseWhole(String protocol, SplitSettings split) {
    refuse(split.decodeServesWhole(), "decode-serves-whole: true (expected: false", protocol);
    refuse(split.prefillServesWhole(), "prefill-serves-whole: true (expected: false", protocol);
    refuse(
        split.wholeWhenPrefillBusy(), "whole-when-prefill-busy: true (expected: false", protocol);
    refuse(
        split.uncachedThreshold() > 0,
        "uncached-threshold: " + split.uncachedThreshold() + " (expected: 0",
        protocol);
    refuse(
        split.heldShare() <= 1,
        "held-share: " + split.heldShare() + " (expected: above 1",
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
   * Why a worker cannot be taken in; null if it can.
   *
   * @param worker with the role that it is to have
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
