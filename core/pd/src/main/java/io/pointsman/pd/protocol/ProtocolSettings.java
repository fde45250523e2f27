package io.pointsman.pd.protocol;

import static java.util.Objects.requireNonNull;

import io.pointsman.pd.peer.BlockReceiver;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Settings of all protocols; each protocol reads its own.
 *
 * @param remoteHost treatment of the host that a prefill worker reports
 * @param minTokens treatment of a minimum token count in prefill requests
 * @param receiver for {@code lmcache}: the receiver of decode workers without their own entry; null
 *     if there is none
 * @param lease time for which a prefill worker keeps unfetched blocks; must match the engines'
 *     configuration. If it is too long, decode may find no blocks and compute the prompt again.
 * @param notificationWait for {@code lmcache}: longest wait for the notifications
 * @param turnTtl for {@code nixl}: validity of blocks offered for the next turn; 0, the default,
 *     disables their use. Must be shorter than the engines' {@code decoder_kv_blocks_ttl}.
 * @param maxTurns for {@code nixl}: maximum number of remembered conversations; at least 1
 * @param maxTurnBytes for {@code nixl}: maximum memory for them in bytes; at least 1
 */
@RecordBuilder
public record ProtocolSettings(
    RemoteHost remoteHost,
    MinTokens minTokens,
    @Nullable BlockReceiver receiver,
    Duration lease,
    Duration notificationWait,
    Duration turnTtl,
    int maxTurns,
    long maxTurnBytes)
    implements ProtocolSettingsBuilder.With {

  public static final ProtocolSettings DEFAULTS =
      new ProtocolSettings(
          RemoteHost.KEEP,
          MinTokens.REMOVE,
          null,
          Duration.ofSeconds(30),
          Duration.ofSeconds(10),
          Duration.ZERO,
          10_000,
          64 << 20);

  /** Treatment of the host that a prefill worker reports. */
  public enum RemoteHost {
    /** Keep it: the engines know their own addresses. */
    KEEP,
    /** Replace a loopback address by the host of the worker's URL. */
    REPLACE_IF_LOOPBACK,
    /** Replace it by the host of the worker's URL. */
    REPLACE
  }

  /** Treatment of a minimum token count, which must not exceed the maximum. */
  public enum MinTokens {
    /** Remove it. */
    REMOVE,
    /** Set it to 1, as vllm-router does. */
    ONE
  }

  public ProtocolSettings {
    requireNonNull(remoteHost, "remoteHost");
    requireNonNull(minTokens, "minTokens");
    if (!lease.isPositive()) {
      throw new IllegalArgumentException("lease: " + lease + " (expected: > 0)");
    }
    if (!notificationWait.isPositive()) {
      throw new IllegalArgumentException(
          "notificationWait: " + notificationWait + " (expected: > 0)");
    }
    if (turnTtl.isNegative()) {
      throw new IllegalArgumentException("turnTtl: " + turnTtl + " (expected: >= 0)");
    }
    if (maxTurns < 1 || maxTurnBytes < 1) {
      throw new IllegalArgumentException(
          "maxTurns, maxTurnBytes: " + maxTurns + ", " + maxTurnBytes + " (expected: >= 1)");
    }
  }
}
