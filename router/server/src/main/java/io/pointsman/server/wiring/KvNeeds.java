package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.PointsmanConfig.ModelRouting;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.TokenSettings;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decides which KV events and which token ids of texts a configuration needs. */
final class KvNeeds {
  private static final Logger log = LoggerFactory.getLogger(KvNeeds.class);

  /** Policies that compare prompts with KV events. */
  private static final Set<String> COMPARE = Set.of("cost", "kv_aware", "load_aware");

  private KvNeeds() {}

  /**
   * The subscriptions that the router needs: none if no policy that decides uses KV events. A
   * user's policy class is assumed to use them.
   */
  static KvEventSettings events(PointsmanConfig config) {
    return uses(config) ? config.kvEvents() : KvEventSettings.DEFAULTS;
  }

  /**
   * Warns if KV events are configured and not used.
   *
   * @param before the configuration before; null at the start
   */
  static void warnOfUnused(@Nullable PointsmanConfig before, PointsmanConfig config) {
    if (unused(config) && (before == null || !unused(before))) {
      log.warn(
          "kv-events.mode: the router does not subscribe, because no active policy uses KV events"
              + " (expected: one of {})",
          COMPARE);
    }
  }

  private static boolean unused(PointsmanConfig config) {
    return config.kvEvents().mode() != KvEventSettings.Mode.OFF && !uses(config);
  }

  private static boolean uses(PointsmanConfig config) {
    return deciding(config).anyMatch(name -> COMPARE.contains(name) || name.contains("."));
  }

  /** The queries for token ids that the router needs; null: none. */
  static @Nullable TokenSettings tokens(PointsmanConfig config) {
    boolean subscribes = config.kvEvents().mode() != KvEventSettings.Mode.OFF;
    return subscribes && config.kvTokens().enabled() && deciding(config).anyMatch(COMPARE::contains)
        ? config.kvTokens()
        : null;
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
}
