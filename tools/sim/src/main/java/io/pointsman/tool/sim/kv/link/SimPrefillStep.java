package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.KvRequest;
import io.pointsman.tool.sim.kv.protocol.Task;
import io.pointsman.tool.sim.kv.protocol.Task.After;
import io.pointsman.tool.sim.kv.protocol.Task.Before;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.GenerationRun;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A request with a prompt that is computed here and decoded elsewhere. */
final class SimPrefillStep extends SimStep {
  private final Task.Produce task;
  private Runnable cancel = () -> {};
  private boolean produces;
  private boolean over;

  SimPrefillStep(KvNode node, SimExchange exchange, KvRequest request, Task.Produce task) {
    super(node, exchange, request);
    this.task = task;
  }

  @Override
  public Generation request() {
    Generation asked = request.generation();
    return task.clamp()
        ? new Generation(
            asked.model(), asked.prompts(), 1, 1, false, asked.seed(), asked.cacheSalt())
        : asked;
  }

  @Override
  public void prepare(GenerationRun run, Runnable start) {
    Runnable compute =
        () -> {
          produces = true;
          run.keepMemory();
          start.run();
        };
    for (String key : task.keys()) {
      if (node.ledger().find(key) != null) {
        failed(FieldError.wrong(task.keyField(), key, "one not in use"), start);
        return;
      }
    }
    switch (task.before()) {
      case Before.Nothing nothing -> compute.run();
      case Before.Meet meet -> meet(meet, compute, start);
      case Before.Init init -> init(init, 0, compute, start);
      case Before.Reader reader -> awaitReader(reader.keys(), compute, start);
      case Before.Pull pull -> pull(pull.consume(), run, compute, start);
    }
  }

  private void meet(Before.Meet meet, Runnable compute, Runnable start) {
    cancel =
        node.peers()
            .call(
                meet.peer(),
                "/kv/engine",
                SimJson.object(),
                10,
                (status, body) -> {
                  FieldError error = stranger(meet, status, body);
                  if (error == null) {
                    compute.run();
                  } else {
                    failed(error, start);
                  }
                });
  }

  private @Nullable FieldError stranger(Before.Meet meet, int status, JsonNode body) {
    SideChannel peer = meet.peer();
    if (status != 200) {
      return Fetch.error(peer, status, body);
    }
    String role = body.path("role").asText();
    if (role.equals("prefill")) {
      return FieldError.stale(
          peer.field(), peer.host() + ":" + peer.port() + " is not a decode engine");
    }
    int tpSize = body.path("tp_size").asInt();
    if (meet.tpSize() >= 0 && meet.tpSize() != tpSize) {
      return FieldError.stale("remote_tp_size", meet.tpSize() + " (decode's: " + tpSize + ")");
    }
    int dpSize = body.path("dp_size").asInt();
    if (meet.dpSize() >= 0 && meet.dpSize() != dpSize) {
      return FieldError.stale("remote_dp_size", meet.dpSize() + " (decode's: " + dpSize + ")");
    }
    return null;
  }

  private void init(Before.Init init, int rank, Runnable compute, Runnable start) {
    if (rank == init.ports().size()) {
      compute.run();
      return;
    }
    SideChannel port =
        new SideChannel(init.host(), init.ports().get(rank), "disagg_spec.receiver_init_port");
    cancel =
        node.peers()
            .call(
                port,
                "/kv/init",
                SimJson.object().put("rank", rank),
                10,
                (status, body) -> {
                  if (status == 200) {
                    init(init, rank + 1, compute, start);
                  } else {
                    failed(Fetch.error(port, status, body), start);
                  }
                });
  }

  private void awaitReader(List<String> keys, Runnable compute, Runnable start) {
    boolean[] met = new boolean[1];
    List<Runnable> places = new ArrayList<>();
    Runnable forget = () -> places.forEach(Runnable::run);
    Runnable once =
        () -> {
          if (!met[0]) {
            met[0] = true;
            forget.run();
            compute.run();
          }
        };
    try {
      for (int i = 0; i < keys.size() && !met[0]; i++) {
        places.add(node.ledger().awaitReader(keys.get(i), once));
      }
    } catch (FieldError e) {
      forget.run();
      failed(e, start);
      return;
    }
    cancel = forget;
    if (met[0]) {
      return;
    }
    double seconds = node.options().waitSeconds();
    node.driver()
        .laterInWallTime(
            (long) (seconds * 1000),
            () -> {
              if (!met[0] && !over) {
                forget.run();
                failed(
                    FieldError.stale(
                        "bootstrap_room", "decode did not fetch within " + seconds + " s"),
                    start);
              }
            });
  }

  private void pull(Task.Consume consume, GenerationRun run, Runnable compute, Runnable start) {
    long[] hashes = hashes();
    Fetch fetch =
        new Fetch(
            node,
            consume,
            node.known(hashes),
            () -> {
              run.load(consume.tokens());
              compute.run();
            },
            error -> failed(error, start));
    cancel = fetch::cancel;
    fetch.begin();
  }

  private long[] hashes() {
    int[] prompt = request.generation().prompts().getFirst();
    return BlockHashes.of(prompt, node.blockSize(), request.generation().salt());
  }

  @Override
  public @Nullable JsonNode finished(GenerationRun run) {
    if (!produces) {
      return null;
    }
    if (node.tooShort(request)) {
      run.freeMemory();
      return NullNode.getInstance();
    }
    int tokens = request.promptTokens();
    return switch (task.after()) {
      case After.Hold hold -> {
        ReservedBlocks reserved =
            node.hold(
                task.keys(),
                task.rank(),
                tokens,
                request.hash(tokens),
                node.options().leaseNanos(),
                run::freeMemory);
        yield reply(run, reserved);
      }
      case After.Push push -> {
        push(push, tokens, run);
        yield reply(run, null);
      }
      case After.Send send -> {
        send(send, tokens, run);
        yield reply(run, null);
      }
      case After.Store store -> {
        node.share(hashes());
        run.freeMemory();
        yield null;
      }
    };
  }

  private JsonNode reply(GenerationRun run, @Nullable ReservedBlocks reserved) {
    ReservedBlocks described = reserved == null ? node.nothingReserved() : reserved;
    ObjectNode params =
        node.protocol()
            .reply(request, node.self(), described, run.answer(0).id(0), run.cachedTokens());
    return params == null ? NullNode.getInstance() : params;
  }

  /** Unlike vLLM, responds before the transfer is complete, so decode may wait a little. */
  private void send(After.Send send, int tokens, GenerationRun run) {
    node.counters().transferStarted();
    ObjectNode kv = Claim.to(send.key()).tokens(tokens, request.hash(tokens)).write();
    node.driver()
        .later(
            node.options().transferMillis(tokens),
            () ->
                node.peers()
                    .call(
                        send.peer(),
                        "/kv/keep",
                        kv,
                        10,
                        (status, body) -> {
                          if (status == 200) {
                            node.counters().transferFinished(tokens);
                          } else {
                            node.counters().transferCancelled();
                            node.counters().wrong(Fetch.error(send.peer(), status, body));
                          }
                          run.freeMemory();
                        }));
  }

  private void push(After.Push push, int tokens, GenerationRun run) {
    node.counters().transferStarted();
    ObjectNode kv = SimJson.object().put("req_id", push.requestId()).put("tokens", tokens);
    kv.put("hash", request.hash(tokens));
    if (push.first()) {
      kv.put("first_tok", run.answer(0).id(0));
    }
    node.driver().later(node.options().transferMillis(tokens), () -> put(push, 0, tokens, kv, run));
  }

  private void put(After.Push push, int rank, int tokens, ObjectNode kv, GenerationRun run) {
    if (rank == push.ports().size()) {
      node.counters().transferFinished(tokens);
      run.freeMemory();
      node.notifier().arrived(push.requestId(), rank);
      return;
    }
    SideChannel port =
        new SideChannel(push.host(), push.ports().get(rank), "disagg_spec.receiver_alloc_port");
    node.peers()
        .call(
            port,
            "/kv/put",
            kv.put("rank", rank),
            10,
            (status, body) -> {
              if (status == 200) {
                put(push, rank + 1, tokens, kv, run);
              } else {
                node.counters().transferCancelled();
                node.counters().wrong(Fetch.error(port, status, body));
                run.freeMemory();
              }
            });
  }

  @Override
  public void lost() {
    over = true;
    cancel.run();
  }
}
