package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.PointsmanConfig.ModelRouting;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvtokens.TokenAsker;
import io.pointsman.control.kvtokens.TokenTally;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.reader.Readers;
import java.util.Deque;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts queries for token ids and creates their store. Separate from the router's assembly; a
 * router without such queries then loads none of these classes.
 */
final class TokenAsking {
  private static final Logger log = LoggerFactory.getLogger(TokenAsking.class);

  /** Policies that compare prompts with KV events. */
  private static final Set<String> COMPARE = Set.of("cost", "kv_aware", "load_aware");

  private TokenAsking() {}

  /**
   * True if the router must subscribe to KV events: only if a policy that decides uses them. A
   * user's policy class is assumed to use them.
   */
  static boolean hears(PointsmanConfig config) {
    if (config.kvEvents().mode() == KvEventSettings.Mode.OFF) {
      return false;
    }
    boolean wanted = uses(config);
    if (!wanted) {
      log.warn(
          "kv-events.mode: the router does not subscribe, because no active policy uses KV events"
              + " (expected: one of {})",
          COMPARE);
    }
    return wanted;
  }

  /**
   * True if the policies of {@code next} need no more from KV events than a router that started
   * with {@code first} has.
   */
  static boolean heardAlready(PointsmanConfig first, PointsmanConfig next) {
    boolean off = next.kvEvents().mode() == KvEventSettings.Mode.OFF;
    return off || uses(first) || !uses(next);
  }

  private static boolean uses(PointsmanConfig config) {
    return deciding(config).anyMatch(name -> COMPARE.contains(name) || name.contains("."));
  }

  /** The store of token ids; {@link TokenKeys#NONE} if token ids are not queried. */
  static TokenKeys texts(PointsmanConfig config, Ticker ticker) {
    boolean heard = config.kvEvents().mode() != KvEventSettings.Mode.OFF;
    return heard && config.kvTokens().enabled() && deciding(config).anyMatch(COMPARE::contains)
        ? new KnownTexts(config.kvTokens().maxBytes(), ticker)
        : TokenKeys.NONE;
  }

  /** Names of all policies except the shadow policy, which uses its own placements. */
  private static Stream<String> deciding(PointsmanConfig config) {
    Stream<String> ofStages =
        config.disagg().enabled()
            ? Stream.of(config.disagg().prefillPolicy(), config.disagg().decodePolicy())
            : Stream.of();
    Stream<String> ofModels = config.models().stream().map(ModelRouting::policy);
    return Stream.of(Stream.of(config.policy()), ofStages, ofModels).flatMap(names -> names);
  }

  /**
   * Starts the queries.
   *
   * @param opened receives the resources to close
   * @param measure receives the metrics
   * @return the listener for prompts that are sent
   */
  static PromptListener start(
      PointsmanConfig config,
      Fleet fleet,
      KvKnowledge knowledge,
      EngineClient client,
      Ticker ticker,
      Deque<AutoCloseable> opened,
      BiConsumer<TokenTally, KnownTexts> measure) {
    if (!(knowledge.texts() instanceof KnownTexts texts)) {
      return PromptListener.NONE;
    }
    TokenAsker asker =
        new TokenAsker(
            config.kvTokens(),
            fleet,
            texts,
            () -> knowledge.index().liveWorkers() > 0,
            (worker, path, body, authorization, timeout) ->
                client.post(
                    worker.spec(), worker.spec().base() + path, body, authorization, timeout),
            new Readers(config.affinity()),
            ticker);
    opened.push(asker);
    measure.accept(asker.tally(), texts);
    return asker.start();
  }
}
