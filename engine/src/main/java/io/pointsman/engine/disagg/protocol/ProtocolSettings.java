package io.pointsman.engine.disagg.protocol;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.disagg.peer.Receiver;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The knobs of all protocols. A protocol reads its own and leaves the others alone.
 *
 * @param remoteHost what becomes of the host that a prefill worker says
 * @param minTokens what becomes of a lower limit of tokens in prefill requests
 * @param receiver for {@code lmcache}: where decode workers take blocks that have no entry of their
 *     own; null if there is none
 * @param lease how long a prefill worker keeps blocks that nobody has asked for; as the engines are
 *     configured. Too long, and decode finds nothing and computes the prompt anew.
 * @param notificationWait for {@code lmcache}: how long to wait for the notifications
 * @param turnTtl for {@code nixl}: how long what decode handed back is used for the next turn; 0
 *     turns that off. Must be shorter than the engines' {@code decoder_kv_blocks_ttl}.
 * @param maxTurns for {@code nixl}: most conversations remembered; at least 1
 * @param maxTurnBytes for {@code nixl}: most bytes remembered for them; at least 1
 */
public record ProtocolSettings(
    RemoteHost remoteHost,
    MinTokens minTokens,
    @Nullable Receiver receiver,
    Duration lease,
    Duration notificationWait,
    Duration turnTtl,
    int maxTurns,
    long maxTurnBytes) {

  public static final ProtocolSettings DEFAULTS =
      new ProtocolSettings(
          RemoteHost.KEEP,
          MinTokens.REMOVE,
          null,
          Duration.ofSeconds(30),
          Duration.ofSeconds(10),
          Duration.ofSeconds(450),
          10_000,
          64 << 20);

  /** What becomes of the host that a prefill worker says. */
  public enum RemoteHost {
    /** It stays: the engines are told their addresses. */
    KEEP,
    /** One that means the worker's own machine gives way to the host of the worker's URL. */
    REPLACE_IF_LOOPBACK,
    /** It gives way to the host of the worker's URL. */
    REPLACE
  }

  /** What becomes of a lower limit of tokens, which must not exceed the upper one. */
  public enum MinTokens {
    /** It is taken out. */
    REMOVE,
    /** It is set to 1, as vllm-router does. */
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

  public ProtocolSettings withRemoteHost(RemoteHost remoteHost) {
    return new ProtocolSettings(
        remoteHost, minTokens, receiver, lease, notificationWait, turnTtl, maxTurns, maxTurnBytes);
  }

  public ProtocolSettings withMinTokens(MinTokens minTokens) {
    return new ProtocolSettings(
        remoteHost, minTokens, receiver, lease, notificationWait, turnTtl, maxTurns, maxTurnBytes);
  }

  public ProtocolSettings withReceiver(Receiver receiver) {
    return new ProtocolSettings(
        remoteHost, minTokens, receiver, lease, notificationWait, turnTtl, maxTurns, maxTurnBytes);
  }
}
