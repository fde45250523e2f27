package io.pointsman.app.compat;

import io.pointsman.app.config.ConfigException;
import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.key.AdminKeys;
import io.pointsman.app.config.key.ForwardKeys;
import io.pointsman.app.config.key.FrontKeys;
import io.pointsman.app.config.key.RoutingKeys;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Translates the command line of vllm-router 0.1.17, in the spellings of its Rust binary and of its
 * Python launcher, into the configuration. Everything else about running is the same as for every
 * other launcher.
 */
public final class VllmRouterLauncher {
  private static final String SESSION_EXPIRATION = "VLLM_ROUTER_SLL_SESSION_EXPIRATION_IN_S";
  private static final String KEY_VALIDATION = "API_KEY_VALIDATION_URLS";

  /** Every flag, in the order in which they are documented. */
  static final List<Flag> FLAGS =
      Stream.of(
              VllmRouterFlags.listener(),
              VllmRouterFlags.routing(),
              VllmRouterFlags.watching(),
              VllmRouterFlags.forwarding(),
              VllmRouterFlags.operation(),
              TracingFlags.all(),
              DiscoveryFlags.all(),
              LaterFlags.disaggregation(),
              LaterFlags.events(),
              LaterFlags.scheduling(),
              LaterFlags.platform())
          .flatMap(List::stream)
          .toList();

  private VllmRouterLauncher() {}

  /**
   * The configuration that a command line asks for.
   *
   * @param environment the process's environment variables
   * @throws ConfigException if a flag is unknown, wrong or cannot be honoured, with all reasons
   */
  public static ConfigValues translate(List<String> args, Map<String, String> environment) {
    Translation into = new Translation();
    behaviour(into.values());
    for (Flag flag : FLAGS) {
      if (!flag.standard().isEmpty() && flag.effect() instanceof Effect.Honoured honoured) {
        honoured.action().apply(new Given(flag.name(), List.of(flag.standard())), into);
      }
    }
    environment(environment, into);
    TracingFlags.standard(into.values(), environment, into);
    new FlagParser(FLAGS, into.problems())
        .parse(args)
        .forEach((flag, given) -> apply(flag, given, into));
    into.backend().settle(into);
    workers(into);
    DiscoveryFlags.finish(into);
    return into.orThrow();
  }

  /** All flags with what they do here, for people. */
  public static String help() {
    StringBuilder help = new StringBuilder();
    help.append("Usage: pointsman vllm-router [flags of vllm-router 0.1.17]\n\n");
    for (Flag flag : FLAGS) {
      String standard = flag.standard().isEmpty() ? "" : " (default " + flag.standard() + ")";
      help.append("  ").append(String.join(", ", flag.names())).append(standard).append('\n');
      help.append("      ").append(flag.meaning()).append('\n');
      help.append("      ").append(VllmRouterPage.status(flag)).append('\n');
    }
    return help.toString();
  }

  /** What vllm-router does without a flag for it. */
  private static void behaviour(ConfigValues values) {
    values.set(FrontKeys.CORS_ENABLED, true);
    values.set(FrontKeys.QUEUE_TIMEOUT_STATUS, 408);
    values.set(RoutingKeys.UNKNOWN_MODEL, UnknownModel.ANY_WORKER);
    values.set(ForwardKeys.CONNECT_TIMEOUT, Duration.ofSeconds(10));
    values.set(ForwardKeys.RETRY_BUDGET, 1.0);
  }

  private static void environment(Map<String, String> environment, Translation into) {
    String expiration = environment.getOrDefault(SESSION_EXPIRATION, "");
    if (!expiration.isEmpty()) {
      Given given = new Given(SESSION_EXPIRATION, List.of(expiration));
      long seconds = into.whole(given, 1, 31_536_000);
      if (seconds > 0) {
        into.values().set(RoutingKeys.STICKY_IDLE, Duration.ofSeconds(seconds));
      }
    }
    String urls = environment.getOrDefault(KEY_VALIDATION, "");
    if (!urls.isBlank()) {
      List<String> each = List.of(urls.strip().split("[,\\s]+", -1));
      Translation.list(AdminKeys.VALIDATION_URLS).apply(new Given(KEY_VALIDATION, each), into);
    }
  }

  private static void apply(Flag flag, Given given, Translation into) {
    switch (flag.effect()) {
      case Effect.Honoured(_, Effect.Action action) -> action.apply(given, into);
      case Effect.Later(String feature) -> {
        if (!standard(flag, given)) {
          into.problems().add(flag.name() + ": is not supported yet: " + feature);
        }
      }
      case Effect.Refused(String reason) -> {
        if (!standard(flag, given)) {
          into.problems().add(flag.name() + ": is not supported: " + reason);
        }
      }
      case Effect.Idle _ -> {
        // Nothing here depends on it; docs/vllm-router.md says why.
      }
    }
  }

  /** Whether a flag says its default, so that nothing is asked for that is not done anyway. */
  private static boolean standard(Flag flag, Given given) {
    if (flag.shape() == Flag.Shape.LIST && given.values().isEmpty()) {
      return true;
    }
    return given.values().size() == 1
        && number(given.value())
            .map(value -> number(flag.standard()).filter(value::equals).isPresent())
            .orElse(given.value().equals(flag.standard()));
  }

  private static Optional<Double> number(String text) {
    try {
      return Optional.of(Double.valueOf(text));
    } catch (NumberFormatException e) {
      return Optional.empty();
    }
  }

  private static void workers(Translation into) {
    List<WorkerSpec> workers = new ArrayList<>();
    for (String url : into.workerUrls()) {
      if (url.startsWith("grpc://")) {
        into.problems().add("--worker-urls: " + url + " is not supported yet: engines behind gRPC");
      } else if (valid(url)) {
        workers.addAll(workers(url, into.dataParallelSize()));
      } else {
        into.problems().add("--worker-urls: " + url + " (expected: http://host:port)");
      }
    }
    into.values().set(RoutingKeys.WORKERS, workers);
  }

  private static boolean valid(String url) {
    try {
      URI uri = URI.create(url);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      return http && uri.getHost() != null && uri.getUserInfo() == null && uri.getQuery() == null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static List<WorkerSpec> workers(String url, int ranks) {
    WorkerSpec whole = WorkerSpec.of(url.endsWith("/") ? url.substring(0, url.length() - 1) : url);
    if (ranks == 1) {
      return List.of(whole);
    }
    List<WorkerSpec> each = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      each.add(whole.withRank(rank));
    }
    return each;
  }
}
