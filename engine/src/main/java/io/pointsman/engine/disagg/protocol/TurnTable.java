package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.Conversation;
import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What decode workers handed back for the next turn of conversations: good for one use, for a
 * while, as long as the worker has been well, and for prompts that go on where the last answer
 * ended. Bounded in entries and bytes; the oldest gives way.
 */
final class TurnTable {
  /**
   * What was handed back.
   *
   * @param host the {@code remote_host} in it; null if it has none
   * @param next what the next prompt must begin with
   */
  record Turn(Worker decode, RawJson params, @Nullable RawJson host, PrefixMark next) {}

  /** A conversation is its session, its owner's, with one model. */
  private record Key(String session, String owner, @Nullable String model) {
    static Key of(Conversation conversation) {
      return new Key(conversation.session(), conversation.owner(), conversation.model());
    }

    int length() {
      return session.length() + owner.length() + (model == null ? 0 : model.length());
    }
  }

  /**
   * @param outages of the worker until then
   */
  private record Entry(Turn turn, int outages, long until) {
    int bytes() {
      return turn.params.length();
    }

    /** Whether the worker may still hold what it described. */
    boolean good(long now) {
      Worker worker = turn.decode;
      return now - until < 0
          && !worker.left()
          && worker.health().healthy()
          && worker.health().outages() == outages;
    }
  }

  /** Characters of session, owner and model together. */
  private static final int MAX_KEY = 512;

  private final long ttlNanos;
  private final int most;
  private final long mostBytes;
  private final Ticker ticker;

  /** Oldest first; guarded by this. */
  private final Map<Key, Entry> turns = new LinkedHashMap<>();

  private long bytes;

  TurnTable(Duration ttl, int most, long mostBytes, Ticker ticker) {
    ttlNanos = ttl.toNanos();
    this.most = most;
    this.mostBytes = mostBytes;
    this.ticker = ticker;
  }

  synchronized void put(Conversation conversation, Turn turn) {
    Key key = Key.of(conversation);
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
   * Null if there is none, or none that is still good. One that another branch of the conversation
   * has left stays.
   */
  synchronized @Nullable Turn take(Conversation conversation) {
    Key key = Key.of(conversation);
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

  private void drop(Key key) {
    Entry entry = turns.remove(key);
    if (entry != null) {
      bytes -= entry.bytes();
    }
  }

  synchronized int size() {
    return turns.size();
  }
}
