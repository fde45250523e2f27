package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.KvProtocol;
import io.pointsman.tool.sim.kv.protocol.KvRequest;
import io.pointsman.tool.sim.kv.protocol.Task;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import io.pointsman.tool.sim.live.GenerationRun;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A request with a prompt that another engine has computed. */
final class SimDecodeStep extends SimStep {
  private final Task task;
  private @Nullable Fetch fetch;
  private boolean lost;

  SimDecodeStep(KvNode node, SimExchange exchange, KvRequest request, Task task) {
    super(node, exchange, request);
    this.task = task;
  }

  @Override
  public void prepare(GenerationRun run, Runnable start) {
    if (node.options().bidirectional()) {
      run.keepMemory();
    }
    switch (task) {
      case Task.Consume consume -> fetch(consume, run, start);
      case Task.Arrived arrived -> useArrived(arrived, run, start);
      case Task.Awaited awaited -> await(awaited, run, start);
      case Task.Found found -> find(run, start);
      case Task.Direct direct -> start.run();
      case Task.Produce produce -> throw new IllegalStateException("task: of the other step");
    }
  }

  private void fetch(Task.Consume consume, GenerationRun run, Runnable start) {
    Fetch begun =
        new Fetch(
            node,
            consume,
            node.known(hashes()),
            () -> {
              run.load(consume.tokens());
              start.run();
            },
            error -> failed(error, start));
    fetch = begun;
    begun.begin();
  }

  /** KV that was taken once is not sent again: a second request for it waits in vain. */
  private void await(Task.Awaited awaited, GenerationRun run, Runnable start) {
    String key = awaited.claim().key();
    if (node.ledger().find(key) != null) {
      take(awaited, run, start);
      return;
    }
    if (!node.ledger().mayCome(key)) {
      node.counters()
          .wrong(FieldError.stale(awaited.claim().field(), key + " (taken before: waits in vain)"));
    }
    try {
      // The wait is never cancelled, even if the request is gone.
      var _ = node.ledger().await(key, () -> take(awaited, run, start));
    } catch (FieldError e) {
      failed(e, start);
    }
  }

  private void take(Task.Awaited awaited, GenerationRun run, Runnable start) {
    FieldError wrong = null;
    try {
      node.ledger().claim(awaited.claim());
    } catch (FieldError e) {
      wrong = e;
    }
    node.ledger().release(awaited.claim());
    if (lost) {
      return;
    }
    if (wrong == null) {
      run.load(awaited.tokens());
      start.run();
    } else {
      failed(wrong, start);
    }
  }

  private void useArrived(Task.Arrived arrived, GenerationRun run, Runnable start) {
    FieldError error = node.arrivals().missing(arrived);
    if (error == null) {
      run.load(arrived.tokens());
      start.run();
    } else {
      absent(error, start);
    }
  }

  private void find(GenerationRun run, Runnable start) {
    long[] hashes = hashes();
    SideChannel store = node.storePeer();
    if (store == null) {
      found(node.store().known(BlockStore.document(hashes).path("hashes")), hashes, run, start);
      return;
    }
    node.peers()
        .call(
            store,
            "/kv/find",
            BlockStore.document(hashes),
            10,
            (status, body) -> {
              if (lost) {
                return;
              }
              if (status == 200) {
                found(body.path("blocks").asInt(), hashes, run, start);
              } else {
                failed(Fetch.error(store, status, body), start);
              }
            });
  }

  private void found(int blocks, long[] hashes, GenerationRun run, Runnable start) {
    if (blocks < hashes.length) {
      String reason = "KV of " + blocks + " of " + hashes.length + " blocks is in the store";
      absent(FieldError.stale("prompt", reason), start);
      return;
    }
    int tokens = blocks * node.blockSize();
    int fetched = Math.max(0, tokens - node.known(hashes));
    node.counters().transferStarted();
    node.driver()
        .later(
            node.options().transferMillis(fetched),
            () -> {
              if (lost) {
                node.counters().transferCancelled();
              } else {
                node.counters().transferFinished(fetched);
                run.load(tokens);
                start.run();
              }
            });
  }

  /** Missing content is an error only if a handover is mandatory. */
  private void absent(FieldError error, Runnable start) {
    if (node.servesDirectly(request)) {
      node.counters().direct();
      start.run();
    } else {
      failed(error, start);
    }
  }

  private long[] hashes() {
    int[] prompt = request.generation().prompts().getFirst();
    return BlockHashes.of(prompt, node.blockSize(), request.generation().salt());
  }

  @Override
  public @Nullable JsonNode finished(GenerationRun run) {
    if (!node.options().bidirectional()) {
      return null;
    }
    int[] prompt = request.generation().prompts().getFirst();
    int output = run.sequence(0).produced();
    int tokens = prompt.length + output - 1;
    int[] all = Arrays.copyOf(prompt, prompt.length + output);
    System.arraycopy(run.answer(0).ids(output), 0, all, prompt.length, output);
    String hash = KvRequest.hash(Arrays.copyOf(all, tokens), request.generation().salt());
    ReservedBlocks reserved =
        node.hold(
            List.of(request.internalId()),
            request.rank(node.options().dpSize()),
            tokens,
            hash,
            (long) (node.options().decoderTtlSeconds() * 1e9),
            run::freeMemory);
    return KvProtocol.address(node.self(), reserved, false);
  }

  @Override
  public boolean describesInStreams() {
    return node.options().paramsInStreams();
  }

  @Override
  public void lost() {
    lost = true;
    if (fetch != null) {
      fetch.cancel();
    } else if (task instanceof Task.Consume consume) {
      // Refused before admission: notify the holder of the blocks.
      Fetch refused = new Fetch(node, consume, 0, () -> {}, error -> {});
      refused.cancel();
    }
  }
}
