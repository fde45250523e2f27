package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvLedger;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.live.EngineCore;
import java.util.List;

/** Numbers the reserved blocks, and ends their leases in engine time. */
final class ReservedBlockTable {
  private final EngineCore engine;
  private final KvLedger ledger;
  private long wakesAt = KvLedger.NEVER;
  private int nextBlock;

  ReservedBlockTable(EngineCore engine, KvLedger ledger) {
    this.engine = engine;
    this.ledger = ledger;
  }

  ReservedBlocks hold(
      KvSelf self,
      List<String> keys,
      int rank,
      int tokens,
      String hash,
      long leaseNanos,
      Runnable free) {
    int blocks = engine.scheduler().cache().blocksFor(tokens);
    ArrayNode group = SimJson.array();
    for (int i = 0; i < blocks; i++) {
      nextBlock = nextBlock == Integer.MAX_VALUE ? 1 : nextBlock + 1;
      group.add(nextBlock);
    }
    ReservedBlocks reserved =
        new ReservedBlocks(
            keys,
            self.engineId(rank),
            rank,
            self.options().tpSize(),
            SimJson.array().add(group),
            blocks,
            tokens,
            hash,
            leaseNanos,
            free);
    long now = engine.driver().now();
    ledger.hold(reserved, now);
    wakeBy(now + leaseNanos);
    return reserved;
  }

  private void wakeBy(long at) {
    if (at < wakesAt) {
      wakesAt = at;
      engine.driver().later((at - engine.driver().now()) / 1e6 + 1, this::expire);
    }
  }

  private void expire() {
    wakesAt = KvLedger.NEVER;
    ledger.expire(engine.driver().now());
    wakeBy(ledger.nextExpiry());
  }
}
