package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.Conversation;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.engine.disagg.protocol.TurnTable.Turn;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * What {@code nixl} remembers from request to request: which prefill workers push, and what decode
 * workers handed back for the next turn.
 */
final class NixlMemory implements HandoverListener {
  /**
   * A worker that pushes, as it described itself.
   *
   * @param tpSize null if it did not say
   */
  record PushIdentity(RawJson engineId, RawJson host, RawJson port, @Nullable RawJson tpSize) {}

  /**
   * @param outages of the worker until then: one that was down may be another engine since
   */
  private record Pusher(PushIdentity identity, int outages) {}

  private static final RawJson PUSH = RawJson.string("push");

  /** By worker: one rank of one engine. */
  private final ConcurrentMap<Worker, Pusher> pushers = new ConcurrentHashMap<>();

  private final TurnTable turns;

  NixlMemory(ProtocolSettings settings, Ticker ticker) {
    turns = new TurnTable(settings.turnTtl(), settings.maxTurns(), settings.maxTurnBytes(), ticker);
  }

  /** Whether a prefill, by its answer, writes into decode's blocks. */
  static boolean pushes(PrefillReply reply) {
    return reply.says("transfer_mode", PUSH);
  }

  /** How to ask decode for what {@code prefill} will push; null if it does not push. */
  @Nullable PushIdentity pusher(Worker prefill) {
    Pusher known = pushers.get(prefill);
    if (known == null) {
      return null;
    }
    if (known.outages != prefill.health().outages()) {
      pushers.remove(prefill, known);
      return null;
    }
    return known.identity;
  }

  /**
   * What decode handed back in the conversation's last turn, for one use; null if nothing that this
   * turn's prompt goes on from.
   */
  @Nullable Turn takeTurn(@Nullable Conversation conversation) {
    return conversation == null ? null : turns.take(conversation);
  }

  @Override
  public void prefilled(Worker prefill, PrefillReply reply) {
    RawJson engine = reply.param("remote_engine_id");
    RawJson host = reply.param("remote_host");
    RawJson port = reply.param("remote_port");
    boolean pushes = pushes(reply);
    if (pushes && engine != null && host != null && port != null) {
      PushIdentity identity = new PushIdentity(engine, host, port, reply.param("tp_size"));
      pushers.put(prefill, new Pusher(identity, prefill.health().outages()));
      if (prefill.left()) {
        pushers.remove(prefill);
      }
    } else if (reply.kvTransferParams() != null && !pushes) {
      pushers.remove(prefill);
    }
  }

  @Override
  public void decoded(
      PdRequest request, Worker decode, PrefillReply reply, @Nullable PrefixMark next) {
    RawJson params = reply.kvTransferParams();
    Conversation conversation = request.conversation();
    boolean offered = params != null && reply.says("do_remote_decode", RawJson.TRUE);
    if (conversation != null && next != null && params != null && offered) {
      turns.put(conversation, new Turn(decode, params, reply.param("remote_host"), next));
    }
  }

  /** It may have started anew, or push no longer: its next answer tells. */
  @Override
  public void failedTogether(Worker prefill) {
    pushers.remove(prefill);
  }

  @Override
  public void forget(Worker worker) {
    pushers.remove(worker);
  }
}
