package io.pointsman.server.wiring;

import io.pointsman.config.settings.TokenSettings;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvtokens.TokenAsker;
import io.pointsman.control.kvtokens.TokenTally;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.Readers;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The token ids of texts, and the queries to engines for them. Both may begin, change and end at
 * run time. A router without such queries loads none of their classes. Thread-safe.
 */
final class TextTokens implements TokenKeys, PromptListener, AutoCloseable {
  private final Fleet fleet;
  private final EngineClient client;
  private final Ticker ticker;
  private final KvIndex index;
  private final Supplier<Readers> readers;

  /** Null without queries; replaced with the lock. */
  private volatile @Nullable Asked asked;

  /** The counts of all queries; null before the first. Guarded by this. */
  private @Nullable TokenTally tally;

  private BiConsumer<TokenTally, Supplier<@Nullable KnownTexts>> measure = (_, _) -> {};

  /** Inputs of the queries, and their results. */
  private record Asked(
      TokenSettings settings, KnownTexts texts, TokenKeys unseen, TokenAsker asker) {}

  /**
   * @param index the index with the KV events that are compared with token ids
   * @param readers compute the routing keys of the beginnings of prompts
   */
  TextTokens(
      Fleet fleet, EngineClient client, Ticker ticker, KvIndex index, Supplier<Readers> readers) {
    this.fleet = fleet;
    this.client = client;
    this.ticker = ticker;
    this.index = index;
    this.readers = readers;
  }

  /** Sets the receiver of the metrics, which gets them before the first query. */
  synchronized void measure(BiConsumer<TokenTally, Supplier<@Nullable KnownTexts>> receiver) {
    measure = receiver;
  }

  /** Queries by other settings, before they begin. */
  final class Change implements Replacement {
    private final @Nullable TokenSettings settings;
    private final @Nullable Asked before = asked;
    private @Nullable Asked begun;

    private Change(@Nullable TokenSettings settings) {
      this.settings = settings;
    }

    private boolean same() {
      return settings == null ? before == null : before != null && settings.equals(before.settings);
    }

    /**
     * Queries by the settings from here on. The ids that are known stay, unless their memory gets
     * another bound.
     */
    @Override
    public void apply() {
      if (!same()) {
        begun = settings == null ? null : begun(settings, before);
        asked = begun;
      }
    }

    /** Queries by the earlier settings again. */
    @Override
    public void undo() {
      asked = before;
    }

    /** Ends the queries that are not in use. */
    @Override
    public void drop() {
      Asked last = begun;
      if (last != null) {
        last.asker.close();
      }
    }

    /** Ends the earlier queries. */
    @Override
    public void finish() {
      if (!same() && before != null) {
        before.asker.close();
      }
    }
  }

  /**
   * A change of the queries.
   *
   * @param next null: no queries
   */
  synchronized Change prepared(@Nullable TokenSettings next) {
    return new Change(next);
  }

  /** Queries by these settings from here on. */
  void use(@Nullable TokenSettings next) {
    Change change = prepared(next);
    change.apply();
    change.finish();
  }

  private synchronized Asked begun(TokenSettings next, @Nullable Asked before) {
    KnownTexts texts =
        before != null && before.settings.maxBytes() == next.maxBytes()
            ? before.texts
            : new KnownTexts(next.maxBytes(), ticker);
    return new Asked(next, texts, texts.unseen(), started(next, texts));
  }

  private TokenAsker started(TokenSettings settings, KnownTexts texts) {
    TokenTally counts = tally;
    if (counts == null) {
      counts = new TokenTally();
      tally = counts;
      measure.accept(counts, this::texts);
    }
    return new TokenAsker(
            settings,
            fleet,
            texts,
            () -> index.liveWorkers() > 0,
            (worker, path, body, authorization, timeout) ->
                client.post(
                    worker.spec(), worker.spec().base() + path, body, authorization, timeout),
            readers.get(),
            counts,
            ticker)
        .start();
  }

  /** The store in use; null without queries. */
  private @Nullable KnownTexts texts() {
    Asked now = asked;
    return now == null ? null : now.texts;
  }

  @Override
  public @Nullable PrefixBlocks of(PrefixBlocks text) {
    Asked now = asked;
    return now == null ? null : now.texts.of(text);
  }

  @Override
  public TokenKeys unseen() {
    return text -> {
      Asked now = asked;
      return now == null ? null : now.unseen.of(text);
    };
  }

  @Override
  public boolean wants(RequestFacts facts) {
    Asked now = asked;
    return now != null && now.asker.wants(facts);
  }

  @Override
  public void sent(
      RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body) {
    Asked now = asked;
    if (now != null) {
      now.asker.sent(facts, worker, authorization, body);
    }
  }

  @Override
  public synchronized void close() {
    use(null);
  }
}
