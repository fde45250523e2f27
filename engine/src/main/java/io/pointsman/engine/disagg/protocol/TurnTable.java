package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What decode workers handed back for the next turn of conversations: good for one use, for a while
 * and as long as the worker is there. Bounded in entries and bytes; the oldest gives way.
 */
final class TurnTable {
  private record Turn(Worker decode, RawJson params, long until) {}

  private static final int MAX_KEY = 256;

  private final long ttlNanos;
  private final int most;
  private final long mostBytes;
  private final Ticker ticker;

  /** Oldest first; guarded by this. */
  private final Map<String, Turn> turns = new LinkedHashMap<>();

  private long bytes;

  TurnTable(Duration ttl, int most, long mostBytes, Ticker ticker) {
    ttlNanos = ttl.toNanos();
    this.most = most;
    this.mostBytes = mostBytes;
    this.ticker = ticker;
  }

  synchronized void put(String conversation, Worker decode, RawJson params) {
    drop(conversation);
    if (ttlNanos == 0 || conversation.length() > MAX_KEY || params.length() > mostBytes) {
      return;
    }
    turns.put(conversation, new Turn(decode, params, ticker.nanos() + ttlNanos));
    bytes += params.length();
    Iterator<Turn> oldest = turns.values().iterator();
    while (turns.size() > most || bytes > mostBytes) {
      bytes -= oldest.next().params.length();
      oldest.remove();
    }
  }

  /** Null if there is none, or none that is still good. */
  synchronized @Nullable RawJson take(String conversation) {
    Turn turn = drop(conversation);
    if (turn == null || ticker.nanos() - turn.until >= 0 || turn.decode.left()) {
      return null;
    }
    return turn.params;
  }

  private @Nullable Turn drop(String conversation) {
    Turn turn = turns.remove(conversation);
    if (turn != null) {
      bytes -= turn.params.length();
    }
    return turn;
  }

  synchronized int size() {
    return turns.size();
  }
}
