package io.pointsman.app.wiring;

import io.pointsman.app.config.PointsmanConfig;
import io.pointsman.app.config.PointsmanConfig.ModelRouting;
import io.pointsman.app.decide.Readers;
import io.pointsman.app.health.EngineClient;
import io.pointsman.app.kvevents.KvEventSettings;
import io.pointsman.app.kvtokens.TokenAsker;
import io.pointsman.app.kvtokens.TokenTally;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.proxy.telemetry.PromptListener;
import java.util.Deque;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is known of engines' caches, and who asks for what is missing. Apart from the router's
 * assembly, so that a router that does not ask loads no class of it.
 */
final class TokenAsking {
  private static final Logger log = LoggerFactory.getLogger(TokenAsking.class);

  /** Policies that compare prompts with announcements. */
  private static final Set<String> COMPARE = Set.of("cost", "kv_aware");

  private TokenAsking() {}

  /**
   * Whether engines' announcements are heard: only where a policy that decides goes by them. What
   * somebody else's class goes by is not known.
   */
  static boolean hears(PointsmanConfig config) {
    if (config.kvEvents().mode() == KvEventSettings.Mode.OFF) {
      return false;
    }
    boolean wanted =
        deciding(config).anyMatch(name -> COMPARE.contains(name) || name.contains("."));
    if (!wanted) {
      log.warn(
          "kv-events.mode: the router does not subscribe, because no active policy uses KV events"
              + " (expected: one of {})",
          COMPARE);
    }
    return wanted;
  }

  /** What texts' ids are kept in; such that knows none if nobody is to ask for them. */
  static TokenKeys texts(PointsmanConfig config, Ticker ticker) {
    boolean heard = config.kvEvents().mode() != KvEventSettings.Mode.OFF;
    return heard && config.kvTokens().enabled() && deciding(config).anyMatch(COMPARE::contains)
        ? new KnownTexts(config.kvTokens().maxBytes(), ticker)
        : TokenKeys.NONE;
  }

  /** Names of the policies that decide; a shadow goes by its own placements unless it is one. */
  private static Stream<String> deciding(PointsmanConfig config) {
    Stream<String> ofStages =
        config.disagg().enabled()
            ? Stream.of(config.disagg().prefillPolicy(), config.disagg().decodePolicy())
            : Stream.of();
    Stream<String> ofModels = config.models().stream().map(ModelRouting::policy);
    return Stream.of(Stream.of(config.policy()), ofStages, ofModels).flatMap(names -> names);
  }

  /**
   * Begins to ask.
   *
   * @param opened takes what is to be closed at the end
   * @param measure takes what can be measured of it
   * @return who is to be told of prompts that were sent
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
                    worker.spec().role(), worker.spec().url() + path, body, authorization, timeout),
            new Readers(config.affinity()),
            ticker);
    opened.push(asker);
    measure.accept(asker.tally(), texts);
    return asker.start();
  }
}
