package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.durationOrOff;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.nameOrClass;
import static io.pointsman.config.value.ValueTypes.oneOf;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.PromptListSize;
import io.pointsman.config.value.CheckedText;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.pd.execution.StageSettings;
import io.pointsman.pd.execution.StageSettings.Reuse;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.ProtocolSettings.MinTokens;
import io.pointsman.pd.protocol.ProtocolSettings.RemoteHost;
import io.pointsman.pd.protocol.Protocols;
import io.pointsman.pd.rule.JointPolicy;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Keys of prefill and decode on separate workers. It is long because each key has its text of the
 * reference page.
 */
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
          "Protocol that transfers a prompt's KV blocks from prefill workers to decode workers.",
          "`off`: one worker serves each request, and workers with the role `prefill` or `decode`"
              + " are refused. See docs/pd-protocols.md for each protocol.");

  public static final Key<String> PREFILL_POLICY =
      Key.of(
          ROOT + "prefill-policy",
          nameOrClass(Policies.names(), "Policy"),
          DisaggSettings.DEFAULTS.prefillPolicy(),
          "Policy that chooses a prefill worker.",
          "Policies that use prefixes keep prompts with a common prefix together. Policies that use"
              + " load spread them.");

  public static final Key<String> DECODE_POLICY =
      Key.of(
          ROOT + "decode-policy",
          nameOrClass(decodePolicies(), "Policy"),
          DisaggSettings.DEFAULTS.decodePolicy(),
          "Policy that chooses a decode worker.",
          "`joint` compares the prompt tokens that must be transferred with the number of running"
              + " streams. `least_load` uses only the number of streams.");

  public static final Key<Integer> THRESHOLD =
      Key.of(
          ROOT + "threshold",
          integer(0, Integer.MAX_VALUE),
          SPLIT.threshold(),
          "Use a prefill and a decode worker for prompts of at least this many estimated tokens."
              + " One worker serves shorter prompts.",
          "`0`: all prompts use two workers. With a high value, long prompts delay the streams of"
              + " decode workers.");

  public static final Key<PromptListSize> PROMPT_LISTS =
      Key.of(
          ROOT + "prompt-lists",
          constant(PromptListSize.class),
          PromptListSize.CONTENT,
          "Estimated tokens of a list in `prompt`. `content`: the sum over its elements. `length`:"
              + " the number of its elements, as in production-stack.",
          "With `length`, a list with one long text counts as 1. Lists of token ids have the same"
              + " size with both.");

  public static final Key<Integer> UNCACHED_THRESHOLD =
      Key.of(
          ROOT + "uncached-threshold",
          integer(0, Integer.MAX_VALUE),
          SPLIT.uncachedThreshold(),
          "Skip prefill workers if fewer prompt tokens than this are missing in the cache of a"
              + " decode worker.",
          "`0`: off; `moriio`, `p2p_nccl` and `sglang` allow only this value. A high value lets"
              + " decode workers compute long prompts.");

  public static final Key<Double> CACHED_SHARE =
      Key.of(
          ROOT + "cached-share",
          decimal(0.01, 2),
          SPLIT.cachedShare(),
          "Skip prefill workers if a decode worker has at least this share of the prompt in its"
              + " cache.",
          "A low value lets decode workers compute a large part of the prompt. Above `1`: prefill"
              + " workers are never skipped. `moriio`, `p2p_nccl` and `sglang` allow only that, and"
              + " it is their default.");

  public static final Key<Integer> MAX_LOAD_GAP =
      Key.of(
          ROOT + "max-load-gap",
          integer(0, Integer.MAX_VALUE),
          SPLIT.maxLoadGap(),
          "Number of requests in flight by which a decode worker with the cached prefix can exceed"
              + " the least loaded decode worker. Beyond it, the router does not prefer the cached"
              + " prefix.",
          "`0`: only the least loaded worker's cache counts. A high value follows cached prefixes"
              + " at any load.");

  public static final Key<Integer> MAX_PENDING_PREFILL =
      Key.of(
          ROOT + "max-pending-prefill",
          integer(0, Integer.MAX_VALUE),
          (int) SPLIT.maxPendingPrefill(),
          "Skip prefill workers if each of them has more than this number of prompt tokens to"
              + " compute.",
          "`0`: off. A low value leaves prefill workers idle between bursts.");

  public static final Key<Boolean> DECODE_CAN_PREFILL =
      Key.of(
          ROOT + "decode-can-prefill",
          bool(),
          SPLIT.decodeServesWhole(),
          "Let decode workers serve whole requests: short and unsplittable requests, and all"
              + " requests if no prefill worker is available.",
          "`false`: short requests are split if there is no regular worker, and requests that"
              + " cannot be split are refused. `moriio`, `p2p_nccl` and `sglang` allow only"
              + " `false`: their engines cannot serve a request without a transfer.");

  public static final Key<Boolean> DECODE_WITHOUT_PREFILL =
      Key.of(
          ROOT + "decode-without-prefill",
          bool(),
          SPLIT.decodeWithoutPrefill(),
          "Let decode workers serve long requests alone while no prefill worker is available. This"
              + " needs `disaggregation.decode-can-prefill`.",
          "`false`: the router answers 503 in this case, with the missing role and its labels.");

  public static final Key<Boolean> PREFILL_CAN_DECODE =
      Key.of(
          ROOT + "prefill-can-decode",
          bool(),
          SPLIT.prefillServesWhole(),
          "Let prefill workers serve whole requests if no other worker is available.",
          "`false`: the router answers 503 in this case. `moriio`, `p2p_nccl` and `sglang` allow"
              + " only `false`.");

  public static final Key<Boolean> SKIP_WHEN_PREFILL_BUSY =
      Key.of(
          ROOT + "skip-when-prefill-busy",
          bool(),
          SPLIT.wholeWhenPrefillBusy(),
          "Let a decode worker serve the whole request if all prefill workers are at their limit.",
          "`false`: the request waits (`disaggregation.slot-wait`). `moriio`, `p2p_nccl` and"
              + " `sglang` allow only `false`.");

  public static final Key<Integer> MAX_PREFILLS =
      Key.of(
          ROOT + "max-prefills",
          integer(0, 1_000_000),
          FleetSettings.DEFAULTS.maxPrefills(),
          "Maximum number of concurrent prefills on a prefill worker without `max-in-flight`.",
          "`0`: no limit. `1`: the worker computes one prompt after the other.");

  public static final Key<String> PREFILL_API_KEY =
      Key.of(
              ROOT + "prefill-api-key",
              text("<key>", "a key", true),
              "",
              "API key for prefill engines, in place of `api-key`.",
              "Empty: `api-key` is sent.")
          .secret();

  public static final Key<String> DECODE_API_KEY =
      Key.of(
              ROOT + "decode-api-key",
              text("<key>", "a key", true),
              "",
              "API key for decode engines, in place of `api-key`.",
              "Empty: `api-key` is sent.")
          .secret();

  public static final Key<Duration> SLOT_WAIT =
      Key.of(
          ROOT + "slot-wait",
          durationOrOff(MILLI, DAY),
          STAGES.slotWait(),
          "Maximum time that a request waits while all prefill or decode workers are at their"
              + " limits. Then the router answers 503.",
          "`off`: the router answers 503 at once. With a high value, clients wait although they"
              + " could try another router.");

  public static final Key<Integer> MAX_WAITING =
      Key.of(
          ROOT + "max-waiting",
          integer(0, 1_000_000),
          STAGES.maxWaiting(),
          "Maximum number of requests that wait for a prefill or decode worker at its limit. The"
              + " router answers further ones with 503.",
          "Each waiting request keeps its body in memory.");

  public static final Key<Duration> PREFILL_TIMEOUT =
      Key.of(
          ROOT + "prefill-timeout",
          durationOrOff(MILLI, DAY),
          STAGES.prefill(),
          "Maximum duration of a prefill request. Then the router tries another prefill worker.",
          "A low value interrupts long prompts. `off`: the router waits for workers that hang.");

  public static final Key<Duration> DECODE_TIMEOUT =
      Key.of(
          ROOT + "decode-timeout",
          durationOrOff(MILLI, DAY),
          STAGES.decode(),
          "Maximum wait for the response head of a decode worker, including the transfer of the"
              + " blocks. The wait from the head to the first data has the same limit. Then the"
              + " router tries another decode worker.",
          "A low value interrupts the transfer of long prompts. `off`: the router waits for workers"
              + " that hang.");

  public static final Key<Duration> RELEASE_TIMEOUT =
      Key.of(
          ROOT + "release-timeout",
          duration(MILLI, DAY),
          STAGES.release(),
          "Maximum duration of a decode request that only frees the blocks of an unused prefill."
              + " Then the router tries another decode worker.",
          "A value above `disaggregation.lease` has no benefit: the engine has freed the blocks by"
              + " then.");

  public static final Key<Reuse> HANDOVER_REUSE =
      Key.of(
          ROOT + "handover-reuse",
          constant(Reuse.class),
          STAGES.reuse(),
          "Reuse of a computed prefill after a decode worker failed. `safe`: another decode worker"
              + " fetches the same blocks only if the first one certainly did not. `always`: also"
              + " if it may have fetched them.",
          "`safe` computes the prompt again in all other cases. `always` saves that, but relies on"
              + " engines to refuse freed blocks. An engine that does not refuse them answers from"
              + " the blocks of another prompt.");

  public static final Key<Long> MAX_REPLY_BYTES =
      Key.of(
          ROOT + "max-reply-bytes",
          bytes(1024, 1L << 30),
          (long) STAGES.maxReplyBytes(),
          "Maximum size of a prefill worker's response.",
          "With a low value, prefills of long prompts fail: each block id takes about 6 bytes, for"
              + " 16 tokens or more.");

  public static final Key<Duration> LEASE =
      Key.of(
          ROOT + "lease",
          duration(MILLI, DAY),
          PROTOCOLS.lease(),
          "Time for which prefill workers keep blocks that no decode worker has fetched. Set it as"
              + " in the engines.",
          "If the value is too high, decode workers look for freed blocks. If it is too low,"
              + " prompts are computed again although their blocks exist.");

  public static final Key<RemoteHost> REMOTE_HOST =
      Key.of(
          ROOT + "remote-host",
          constant(RemoteHost.class),
          PROTOCOLS.remoteHost(),
          "nixl: host from which decode workers fetch the blocks. `keep`: as the prefill worker"
              + " reports it. `replace`: the host in the worker's URL. `replace-if-loopback`: the"
              + " host in the URL if the reported one is a loopback address.",
          "`replace-if-loopback` helps if engines do not know their own address. `replace` fails if"
              + " worker URLs contain names of services.");

  public static final Key<MinTokens> MIN_TOKENS =
      Key.of(
          ROOT + "min-tokens",
          constant(MinTokens.class),
          PROTOCOLS.minTokens(),
          "Minimum token count in prefill requests, which generate one token. `remove`: the"
              + " parameter is removed. `one`: it is set to 1, as in vllm-router.",
          "Use `remove` for engines without such a parameter.");

  public static final Key<String> RECEIVER =
      Key.of(
          ROOT + "receiver",
          new CheckedText(
              "<host/ports/ports>",
              "host/init ports/alloc ports such as 10.0.0.1/8300,8301/8400,8401; or empty",
              DisaggKeys::isReceiver),
          "",
          "lmcache: address to which prefill workers send blocks for decode workers without a"
              + " `receiver`.",
          "Empty: each decode worker needs its own `receiver`.");

  public static final Key<Duration> NOTIFICATION_WAIT =
      Key.of(
          ROOT + "notification-wait",
          duration(MILLI, DAY),
          PROTOCOLS.notificationWait(),
          "lmcache: maximum wait for the notifications of a prefill. Then the router sends the"
              + " decode request.",
          "If the value is too low, decode starts before the blocks arrive and computes the prompt"
              + " again.");

  public static final Key<Duration> TURN_TTL =
      Key.of(
          ROOT + "turn-ttl",
          durationOrOff(MILLI, DAY),
          PROTOCOLS.turnTtl(),
          "nixl: time for which a decode worker's blocks are used for the next turn of a"
              + " conversation.",
          "`off`: each turn is computed again. The value must be lower than `decoder_kv_blocks_ttl`"
              + " in the engines. Compare answers with those of one engine before you enable it:"
              + " see [protocols](../pd-protocols.md#nixl).");

  public static final Key<Boolean> STAGE_ERRORS =
      Key.of(
          ROOT + "stage-errors",
          bool(),
          HeaderSettings.DEFAULTS.stageErrors(),
          "Give errors of prefill and decode workers the form of production-stack: the message"
              + " begins with `Prefiller error:` or `Decoder error:`, and the type is"
              + " `prefiller_error` or `decoder_error`.",
          "`false`: clients get the engines' own errors.");

  public static final Key<Integer> MAX_TURNS =
      Key.of(
          ROOT + "max-turns",
          integer(1, 10_000_000),
          PROTOCOLS.maxTurns(),
          "nixl: maximum number of conversations to remember for `disaggregation.turn-ttl`.",
          "A low value removes live conversations.");

  public static final Key<Long> MAX_TURN_BYTES =
      Key.of(
          ROOT + "max-turn-bytes",
          bytes(1024, 1L << 36),
          PROTOCOLS.maxTurnBytes(),
          "nixl: maximum memory to remember conversations for `disaggregation.turn-ttl`.",
          "A low value removes live conversations.");

  public static final Key<Long> INDEX_MAX_BYTES =
      Key.of(
          ROOT + "index-max-bytes",
          bytes(1L << 16, 1L << 36),
          DisaggSettings.DEFAULTS.indexMaxBytes(),
          "Memory for the index of cached prefixes on decode workers.",
          "With a low value, conversations are forgotten, and their next turns use a prefill worker"
              + " again.");

  private DisaggKeys() {}

  private static List<String> decodePolicies() {
    return Stream.concat(Policies.names().stream(), Stream.of(JointPolicy.NAME)).sorted().toList();
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
        PROMPT_LISTS,
        UNCACHED_THRESHOLD,
        CACHED_SHARE,
        MAX_LOAD_GAP,
        MAX_PENDING_PREFILL,
        DECODE_CAN_PREFILL,
        DECODE_WITHOUT_PREFILL,
        PREFILL_CAN_DECODE,
        SKIP_WHEN_PREFILL_BUSY,
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
        STAGE_ERRORS,
        TURN_TTL,
        MAX_TURNS,
        MAX_TURN_BYTES,
        INDEX_MAX_BYTES);
  }
}
