package io.pointsman.pd.protocol;

import static io.pointsman.pd.protocol.PrefillBody.KV_TRANSFER_PARAMS;
import static io.pointsman.request.splice.BodyEdit.add;
import static io.pointsman.request.splice.BodyEdit.extend;
import static io.pointsman.request.splice.BodyEdit.put;
import static io.pointsman.request.splice.BodyEdit.remove;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.BlockReceiver;
import io.pointsman.pd.peer.Peers;
import io.pointsman.pd.plan.Continuation;
import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.NotificationWait;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.plan.Terms.Bond;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The protocol {@code lmcache}. Prefill sends its blocks to the decode worker's receiver and one
 * notification for each tensor-parallel rank. Decode finds the blocks by the prompt's content.
 *
 * <p>For a plain completion with token ids as prompt, prefill generates the first token. The client
 * receives it, and it becomes the last token of decode's prompt. For all other requests decode
 * generates the first token: it recomputes the prompt's last position. It uses the client's own
 * request, with all parameters that affect sampling.
 */
final class LmcacheProtocol implements PdProtocol {
  /** The character that engines write for incomplete characters. */
  private static final char REPLACEMENT = '\ufffd';

  private final Peers peers;
  private final ProtocolSettings settings;

  LmcacheProtocol(Peers peers, ProtocolSettings settings) {
    this.peers = peers;
    this.settings = settings;
  }

  @Override
  public PdPlan plan(PdRequest request, Worker prefill, Worker decode) {
    BlockReceiver receiver = receiver(decode);
    if (receiver == null) {
      return new PdPlan.Unplanned(decode, "its receiver for LMCache blocks");
    }
    boolean first = firstFromPrefill(request);
    BodyEdit token =
        first
            ? put(RawJson.TRUE, KV_TRANSFER_PARAMS, "ret_first_tok")
            : remove(KV_TRANSFER_PARAMS, "ret_first_tok");
    PdStep step =
        PdSteps.step(
            request,
            prefill,
            PrefillBody.edits(
                request.endpoint(),
                settings.minTokens(),
                token,
                put(spec(request, receiver), KV_TRANSFER_PARAMS, "disagg_spec")));
    return new PdPlan.Sequential(
        step,
        new NotificationWait(
            request.nonce(), receiver.initPorts().size(), settings.notificationWait()),
        (worker, reply) -> first ? behindFirst(request, worker, reply) : plain(request, worker),
        PdSteps.reserved(request, Bond.THIS_DECODE, settings));
  }

  private @Nullable BlockReceiver receiver(Worker decode) {
    BlockReceiver own = peers.of(decode).receiver();
    return own == null ? settings.receiver() : own;
  }

  /**
   * Requires a token limit: without one the engine's limit applies, which cannot be lowered by one
   * here.
   */
  private static boolean firstFromPrefill(PdRequest request) {
    SplitFacts facts = request.facts();
    return request.endpoint() == PdEndpoint.COMPLETIONS
        && facts.tokenPrompt()
        && facts.plain()
        && facts.maxTokens() > 1;
  }

  private static RawJson spec(PdRequest request, BlockReceiver receiver) {
    return new Params()
        .with("req_id", request.nonce())
        .with("receiver_host", receiver.host())
        .with("receiver_init_port", list(receiver.initPorts()))
        .with("receiver_alloc_port", list(receiver.allocPorts()))
        .json();
  }

  private static RawJson list(List<Integer> ports) {
    return RawJson.of(ports.toString().replace(" ", ""));
  }

  private static Continuation plain(PdRequest request, Worker decode) {
    return PdSteps.decode(PdSteps.step(request, decode, List.of(remove(KV_TRANSFER_PARAMS))));
  }

  private static Continuation behindFirst(PdRequest request, Worker decode, PrefillReply reply) {
    if ("stop".equals(reply.finishReason())) {
      return new Continuation.Complete();
    }
    RawJson token = reply.param("first_tok");
    RawJson text = reply.firstText();
    if (token == null || text == null || !ofItself(text)) {
      return plain(request, decode);
    }
    List<BodyEdit> edits =
        List.of(extend(token, "prompt"), add(-1, 1, "max_tokens"), remove(KV_TRANSFER_PARAMS));
    List<BodyEdit> usage =
        List.of(add(-1, 0, "usage", "prompt_tokens"), add(1, 0, "usage", "completion_tokens"));
    return new Continuation.Decode(
        PdSteps.step(request, decode, edits), new FirstToken(text, usage));
  }

  /**
   * Returns true if the token's text is independent of later tokens. Only decode could complete a
   * partial character, but it treats the end of the prompt as complete.
   */
  private static boolean ofItself(RawJson text) {
    String quoted = text.toString();
    return quoted.length() > 2
        && quoted.indexOf(REPLACEMENT) < 0
        && !quoted.toLowerCase(Locale.ROOT).contains("\\ufffd");
  }
}
