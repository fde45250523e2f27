package io.pointsman.pd.protocol;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.request.splice.RawJson;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Blocks that decode workers offer for the next turn of conversations. An entry is valid for one
 * use and a limited time, while the worker stays healthy. The next prompt must continue where the
 * last response ended. Limited in entries and bytes; the oldest are removed first.
 */
final class TurnTable {
  /**
   * The offer of one turn.
   *
   * @param host the {@code remote_host} in {@code params}; null if absent
   * @param next the required beginning of the next prompt
   */
  record Turn(Worker decode, RawJson params, @Nullable RawJson host, PrefixMark next) {}

  /** A conversation: session, owner and model. */
  private record TurnKey(String session, String owner, @Nullable String model) {
    static TurnKey of(Conversation conversation) {
      return new TurnKey(conversation.session(), conversation.owner(), conversation.model());
    }

    int length() {
      return session.length() + owner.length() + (model == null ? 0 : model.length());
    }
  }

  /**
   * @param outages the worker's outages at that time
   */
  private record Entry(Turn turn, int outages, long until) {
    int bytes() {
      return turn.params.length();
    }

    /** Returns true if the worker may still hold the blocks. */
    boolean good(long now) {
      Worker worker = turn.decode;
      return now - until < 0
          && !worker.left()
          && worker.health().healthy()
          && worker.health().outages() == outages;
    }
  }

  /** Maximum characters of session, owner and model together. */
  private static final int MAX_KEY = 512;

  private final long ttlNanos;
  private final int most;
  private final long mostBytes;
  private final Ticker ticker;

  /** Oldest first; guarded by this. */
  private final Map<TurnKey, Entry> turns = new LinkedHashMap<>();

  private long bytes;

  TurnTable(Duration ttl, int most, long mostBytes, Ticker ticker) {
    ttlNanos = ttl.toNanos();
    this.most = most;
    this.mostBytes = mostBytes;
    this.ticker = ticker;
  }

  synchronized void put(Conversation conversation, Turn turn) {
    TurnKey key = TurnKey.of(conversation);
    drop(key);
    if (ttlNanos == 0 || key.length() > MAX_KEY || turn.params.length() > mostBytes) {
      return;
    }
    int outages = turn.decode.health().outages();
    turns.put(key, new Entry(turn, outages, ticker.nanos() + ttlNanos));
    bytes += turn.params.length();
    Iterator<Entry> oldest = turns.values().iterator();
    while (turns.size() > most || bytes > mostBytes) {
      bytes -= oldest.next().bytes();
      oldest.remove();
    }
  }

  /**
   * Removes and returns the offer; null if there is none or it is invalid. An offer that this
   * prompt does not continue stays for another branch of the conversation.
   */
  synchronized @Nullable Turn take(Conversation conversation) {
    TurnKey key = TurnKey.of(conversation);
    Entry entry = turns.get(key);
    if (entry == null) {
      return null;
    }
    boolean good = entry.good(ticker.nanos());
    if (good && !entry.turn.next.isPassedBy(conversation.prompt())) {
      return null;
    }
    drop(key);
    return good ? entry.turn : null;
  }

  private void drop(TurnKey key) {
    Entry entry = turns.remove(key);
    if (entry != null) {
      bytes -= entry.bytes();
    }
  }

  synchronized int size() {
    return turns.size();
  }
}
