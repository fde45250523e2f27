package io.pointsman.pd.protocol;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.protocol.TurnTable.Turn;
import io.pointsman.request.splice.RawJson;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * State of {@code nixl} between requests: the prefill workers that push, and the blocks that decode
 * workers offer for the next turn.
 */
final class NixlMemory implements HandoverListener {
  /**
   * The identity of a pushing worker, as it reported.
   *
   * @param tpSize tensor-parallel size; null if not reported
   */
  record PushIdentity(RawJson engineId, RawJson host, RawJson port, @Nullable RawJson tpSize) {}

  /**
   * @param outages the worker's outages at that time; after a further one it may be another engine
   */
  private record Pusher(PushIdentity identity, int outages) {}

  private static final RawJson PUSH = RawJson.string("push");

  /** By worker, which is one rank of one engine. */
  private final ConcurrentMap<Worker, Pusher> pushers = new ConcurrentHashMap<>();

  private final TurnTable turns;

  NixlMemory(ProtocolSettings settings, Ticker ticker) {
    turns = new TurnTable(settings.turnTtl(), settings.maxTurns(), settings.maxTurnBytes(), ticker);
  }

  /** Returns true if the response shows that prefill writes into decode's blocks. */
  static boolean pushes(PrefillReply reply) {
    return reply.says("transfer_mode", PUSH);
  }

  /** Returns the identity for decode requests if {@code prefill} pushes; else null. */
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
   * Takes the blocks that decode offered in the conversation's last turn, for one use. Returns null
   * if there are none that this turn's prompt continues.
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

  /**
   * The worker may have restarted or may no longer push; its next response shows the current state.
   */
  @Override
  public void failedTogether(Worker prefill) {
    pushers.remove(prefill);
  }

  @Override
  public void forget(Worker worker) {
    pushers.remove(worker);
  }
}
