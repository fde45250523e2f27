package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.constant;
import static io.pointsman.app.config.value.ValueTypes.decimal;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.durationOrOff;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.nameOrClass;
import static io.pointsman.app.config.value.ValueTypes.oneOf;
import static io.pointsman.app.config.value.ValueTypes.text;

import io.pointsman.app.config.value.CheckedText;
import io.pointsman.app.disagg.DisaggSettings;
import io.pointsman.engine.disagg.JointPolicy;
import io.pointsman.engine.disagg.SplitSettings;
import io.pointsman.engine.disagg.peer.PeerLabels;
import io.pointsman.engine.disagg.protocol.ProtocolSettings;
import io.pointsman.engine.disagg.protocol.ProtocolSettings.MinTokens;
import io.pointsman.engine.disagg.protocol.ProtocolSettings.RemoteHost;
import io.pointsman.engine.disagg.protocol.Protocols;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.proxy.split.StageSettings;
import io.pointsman.proxy.split.StageSettings.Reuse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Keys of prefill and decode on separate workers. */
public final class DisaggKeys {
  private static final Duration MILLI = Duration.ofMillis(1);
  private static final Duration DAY = Duration.ofHours(24);
  private static final SplitSettings SPLIT = SplitSettings.DEFAULTS;
  private static final StageSettings STAGES = StageSettings.DEFAULTS;
  private static final ProtocolSettings PROTOCOLS = ProtocolSettings.DEFAULTS;
  private static final String ROOT = "disaggregation.";

  public static final Key<String> PROTOCOL =
      Key.of(
          ROOT + "protocol",
          oneOf(protocols()),
          DisaggSettings.DEFAULTS.protocol(),
          "How prefill workers hand a prompt's KV blocks to decode workers.",
          "off serves every request by one worker, and refuses workers with the roles prefill and"
              + " decode; docs/pd-protocols.md says what each protocol sends.");

  public static final Key<String> PREFILL_POLICY =
      Key.of(
          ROOT + "prefill-policy",
          nameOrClass(RoutingKeys.NAMES, "Policy"),
          DisaggSettings.DEFAULTS.prefillPolicy(),
          "How a prefill worker is chosen.",
          "By prefix keeps prompts with a common beginning together; by load spreads them.");

  public static final Key<String> DECODE_POLICY =
      Key.of(
          ROOT + "decode-policy",
          nameOrClass(decodePolicies(), "Policy"),
          DisaggSettings.DEFAULTS.decodePolicy(),
          "How a decode worker is chosen.",
          "joint weighs what of the prompt it need not be sent against the streams that run there;"
              + " least_load counts the streams alone.");

  public static final Key<Integer> THRESHOLD =
      Key.of(
          ROOT + "threshold",
          integer(0, Integer.MAX_VALUE),
          SPLIT.threshold(),
          "Estimated input tokens from which on a request is split; shorter ones go to one worker.",
          "0 splits all; large makes long prompts hold up the streams of decode workers.");

  public static final Key<Integer> UNCACHED_THRESHOLD =
      Key.of(
          ROOT + "uncached-threshold",
          integer(0, Integer.MAX_VALUE),
          SPLIT.uncachedThreshold(),
          "The same for the tokens that no decode worker has in its cache.",
          "0 turns the rule off, and is all that moriio, p2p_nccl and sglang allow; large lets"
              + " decode workers compute long prompts.");

  public static final Key<Double> HELD_SHARE =
      Key.of(
          ROOT + "held-share",
          decimal(0.01, 2),
          SPLIT.heldShare(),
          "Share of the prompt that a decode worker must hold for prefill to be skipped.",
          "Small lets decode workers compute much of the prompt; above 1 never skips, which is all"
              + " that moriio, p2p_nccl and sglang allow, and then the default.");

  public static final Key<Integer> MAX_LOAD_GAP =
      Key.of(
          ROOT + "max-load-gap",
          integer(0, Integer.MAX_VALUE),
          SPLIT.maxLoadGap(),
          "Requests by which a decode worker that holds the prefix may exceed the least loaded one"
              + " to serve the whole request.",
          "0 follows prefixes only to the least loaded worker; large follows them anywhere.");

  public static final Key<Integer> MAX_PENDING_PREFILL =
      Key.of(
          ROOT + "max-pending-prefill",
          integer(0, Integer.MAX_VALUE),
          (int) SPLIT.maxPendingPrefill(),
          "Prompt tokens before each prefill worker above which requests are not split.",
          "0 turns the rule off; small leaves prefill workers idle between bursts.");

  public static final Key<Boolean> DECODE_SERVES_WHOLE =
      Key.of(
          ROOT + "decode-serves-whole",
          bool(),
          SPLIT.decodeServesWhole(),
          "Whether decode workers serve whole requests: short ones, those that cannot be split, and"
              + " all while no prefill worker can be had.",
          "false splits the short ones where there is no regular worker, and refuses those that"
              + " cannot be split. So do moriio, p2p_nccl and sglang, whose engines serve nothing"
              + " without a hand-over: true is refused there.");

  public static final Key<Boolean> PREFILL_SERVES_WHOLE =
      Key.of(
          ROOT + "prefill-serves-whole",
          bool(),
          SPLIT.prefillServesWhole(),
          "Whether prefill workers serve whole requests while no other worker can be had.",
          "false answers 503 then, and so do moriio, p2p_nccl and sglang: true is refused there.");

  public static final Key<Boolean> WHOLE_WHEN_PREFILL_BUSY =
      Key.of(
          ROOT + "whole-when-prefill-busy",
          bool(),
          SPLIT.wholeWhenPrefillBusy(),
          "Whether a decode worker serves the whole request when all prefill workers are at their"
              + " limit.",
          "false lets the request wait, see slot-wait, and is all that moriio, p2p_nccl and sglang"
              + " allow.");

  public static final Key<Integer> MAX_PREFILLS =
      Key.of(
          ROOT + "max-prefills",
          integer(0, 1_000_000),
          FleetSettings.DEFAULTS.maxPrefills(),
          "Most prefills at once on a prefill worker that has no max-in-flight of its own.",
          "0 is no limit; 1 serves prompts strictly one after the other.");

  public static final Key<String> PREFILL_API_KEY =
      Key.of(
              ROOT + "prefill-api-key",
              text("<key>", "a key", true),
              "",
              "Sent to prefill engines in place of api-key.",
              "Empty sends api-key.")
          .secret();

  public static final Key<String> DECODE_API_KEY =
      Key.of(
              ROOT + "decode-api-key",
              text("<key>", "a key", true),
              "",
              "Sent to decode engines in place of api-key.",
              "Empty sends api-key.")
          .secret();

  public static final Key<Duration> SLOT_WAIT =
      Key.of(
          ROOT + "slot-wait",
          durationOrOff(MILLI, DAY),
          STAGES.slotWait(),
          "Longest wait for a place on workers that are at their limits; then 503.",
          "off refuses at once; long keeps clients waiting that might go elsewhere.");

  public static final Key<Integer> MAX_WAITING =
      Key.of(
          ROOT + "max-waiting",
          integer(0, 1_000_000),
          STAGES.maxWaiting(),
          "Most requests that wait for such a place at once; further ones get 503.",
          "Each holds its body in memory.");

  public static final Key<Duration> PREFILL_TIMEOUT =
      Key.of(
          ROOT + "prefill-timeout",
          durationOrOff(MILLI, DAY),
          STAGES.prefill(),
          "Longest that a prefill may take; then another prefill worker is tried.",
          "Short gives long prompts up; off waits for hung workers.");

  public static final Key<Duration> DECODE_TIMEOUT =
      Key.of(
          ROOT + "decode-timeout",
          durationOrOff(MILLI, DAY),
          STAGES.decode(),
          "Longest silence from the decode request to the head of its answer, and from there to"
              + " what ends timeouts.first-byte, transfer of the blocks included; then another"
              + " decode worker is tried.",
          "Short gives up before large prompts are transferred; off waits for hung workers.");

  public static final Key<Duration> RELEASE_TIMEOUT =
      Key.of(
          ROOT + "release-timeout",
          duration(MILLI, DAY),
          STAGES.release(),
          "Longest that a decode request may take that only frees the blocks of a prefill that"
              + " nobody wants; then another decode worker is asked.",
          "Longer than the lease serves nothing.");

  public static final Key<Reuse> HANDOVER_REUSE =
      Key.of(
          ROOT + "handover-reuse",
          constant(Reuse.class),
          STAGES.reuse(),
          "When another decode worker takes the same hand-over after one that failed: safe only if"
              + " the first one certainly did not fetch it, always also if it may have.",
          "safe computes the prompt anew in all other cases; always saves that, and trusts engines"
              + " to refuse blocks that were freed: one that does not answers from another prompt's"
              + " blocks.");

  public static final Key<Long> MAX_REPLY_BYTES =
      Key.of(
          ROOT + "max-reply-bytes",
          bytes(1024, 1L << 30),
          (long) STAGES.maxReplyBytes(),
          "Largest answer of a prefill worker that is read.",
          "Small fails prefills of long prompts: a block's id takes about 6 bytes, for 16 tokens or"
              + " more.");

  public static final Key<Duration> LEASE =
      Key.of(
          ROOT + "lease",
          duration(MILLI, DAY),
          PROTOCOLS.lease(),
          "How long prefill workers keep blocks that nobody has asked for; as the engines are"
              + " configured.",
          "Longer than theirs sends decode workers after blocks that are gone; shorter computes"
              + " prompts anew that are still there.");

  public static final Key<RemoteHost> REMOTE_HOST =
      Key.of(
          ROOT + "remote-host",
          constant(RemoteHost.class),
          PROTOCOLS.remoteHost(),
          "nixl: what becomes of the host that a prefill worker says for its blocks.",
          "replace-if-loopback helps engines that were not told their address; replace fails where"
              + " URLs name services.");

  public static final Key<MinTokens> MIN_TOKENS =
      Key.of(
          ROOT + "min-tokens",
          constant(MinTokens.class),
          PROTOCOLS.minTokens(),
          "What becomes of a lower limit of tokens in prefill requests.",
          "one is what vllm-router does; remove suits engines that know no such limit.");

  public static final Key<String> RECEIVER =
      Key.of(
          ROOT + "receiver",
          new CheckedText(
              "<host/ports/ports>",
              "host/init ports/alloc ports such as 10.0.0.1/8300,8301/8400,8401; or nothing",
              DisaggKeys::isReceiver),
          "",
          "lmcache: where decode workers take blocks that have no receiver of their own.",
          "Empty needs one for each decode worker.");

  public static final Key<Duration> NOTIFICATION_WAIT =
      Key.of(
          ROOT + "notification-wait",
          duration(MILLI, DAY),
          PROTOCOLS.notificationWait(),
          "lmcache: longest wait for the notifications of a prefill; decode is sent after that.",
          "Short sends decode before its blocks are there, so that it computes the prompt.");

  public static final Key<Duration> TURN_TTL =
      Key.of(
          ROOT + "turn-ttl",
          durationOrOff(MILLI, DAY),
          PROTOCOLS.turnTtl(),
          "nixl: how long what decode handed back is used for a conversation's next turn.",
          "off computes each turn anew; must be shorter than the engines' decoder_kv_blocks_ttl.");

  public static final Key<Integer> MAX_TURNS =
      Key.of(
          ROOT + "max-turns",
          integer(1, 10_000_000),
          PROTOCOLS.maxTurns(),
          "nixl: most conversations remembered for that.",
          "Small forgets live conversations.");

  public static final Key<Long> MAX_TURN_BYTES =
      Key.of(
          ROOT + "max-turn-bytes",
          bytes(1024, 1L << 36),
          PROTOCOLS.maxTurnBytes(),
          "nixl: most memory for that.",
          "Small forgets live conversations.");

  public static final Key<Long> INDEX_MAX_BYTES =
      Key.of(
          ROOT + "index-max-bytes",
          bytes(1L << 16, 1L << 36),
          DisaggSettings.DEFAULTS.indexMaxBytes(),
          "Memory of the index of what decode workers hold.",
          "Small forgets conversations, so that they are split again.");

  private DisaggKeys() {}

  private static List<String> decodePolicies() {
    return Stream.concat(RoutingKeys.NAMES.stream(), Stream.of(JointPolicy.NAME)).sorted().toList();
  }

  private static List<String> protocols() {
    List<String> names = new ArrayList<>(Protocols.names());
    names.addFirst(DisaggSettings.OFF);
    return names;
  }

  private static boolean isReceiver(String text) {
    if (text.isEmpty()) {
      return true;
    }
    try {
      return PeerLabels.receiver(text) != null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  static List<Key<?>> all() {
    return List.of(
        PROTOCOL,
        PREFILL_POLICY,
        DECODE_POLICY,
        THRESHOLD,
        UNCACHED_THRESHOLD,
        HELD_SHARE,
        MAX_LOAD_GAP,
        MAX_PENDING_PREFILL,
        DECODE_SERVES_WHOLE,
        PREFILL_SERVES_WHOLE,
        WHOLE_WHEN_PREFILL_BUSY,
        MAX_PREFILLS,
        PREFILL_API_KEY,
        DECODE_API_KEY,
        SLOT_WAIT,
        MAX_WAITING,
        PREFILL_TIMEOUT,
        DECODE_TIMEOUT,
        RELEASE_TIMEOUT,
        HANDOVER_REUSE,
        MAX_REPLY_BYTES,
        LEASE,
        REMOTE_HOST,
        MIN_TOKENS,
        RECEIVER,
        NOTIFICATION_WAIT,
        TURN_TTL,
        MAX_TURNS,
        MAX_TURN_BYTES,
        INDEX_MAX_BYTES);
  }
}
