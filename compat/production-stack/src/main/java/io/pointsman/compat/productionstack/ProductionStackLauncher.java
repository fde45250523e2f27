package io.pointsman.compat.productionstack;

import io.pointsman.compat.vllmrouter.EngineControl;
import io.pointsman.compat.vllmrouter.FlagTable;
import io.pointsman.compat.vllmrouter.Given;
import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.compat.vllmrouter.Translation;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.BatchKeys;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.KvAwareKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.config.settings.HealthAnswer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Translates the command line of the vLLM production stack's router into the configuration. Also
 * accepts proposed flags of that router. Only the configuration differs from other launchers.
 */
public final class ProductionStackLauncher {
  private static final String ENGINES_KEY = "VLLM_API_KEY";

  /** Control paths that this router sends to the engine of {@code ?id=}, as the original does. */
  private static final Set<String> BY_ENGINE_ID = Set.of("/sleep", "/wake_up", "/is_sleeping");

  private static final String PREFILL_TIMEOUT = "ROUTER_PREFILL_TIMEOUT_SECONDS";
  private static final String DECODE_TIMEOUT = "ROUTER_DECODE_TIMEOUT_SECONDS";
  private static final String PROXY_TIMEOUT = "ROUTER_PROXY_TIMEOUT_SECONDS";
  private static final String LOAD_WEIGHT = "LOADAWARE_BETA";
  private static final Duration NO_LIMIT = Duration.ZERO;

  /** Maximum of the keys, in seconds; longer limits count as unlimited. */
  private static final double LONGEST_LIMIT = 86_400;

  private ProductionStackLauncher() {}

  /** All flags, in order of documentation. */
  static FlagTable flags(Wishes wishes) {
    return new FlagTable(
        false,
        "Since",
        List.of(
            StackFlags.listener(),
            StackFlags.discovery(wishes),
            StackFlags.routing(wishes),
            StackPdFlags.all(wishes),
            StackOperationFlags.extensions(wishes),
            StackOperationFlags.operation(wishes)));
  }

  /**
   * The configuration for a command line.
   *
   * @param environment environment variables of the process
   * @throws ConfigException with all reasons, if a flag is unknown, invalid or cannot be honoured
   */
  public static ConfigValues translate(List<String> args, Map<String, String> environment) {
    return launch(args, environment).values();
  }

  /**
   * The configuration for a command line, with the file of {@code --dynamic-config-yaml} or {@code
   * --dynamic-config-json}. Flags of the command line win over the file.
   *
   * @param environment environment variables of the process
   * @throws ConfigException with all reasons, if the file cannot be read, or a flag is unknown,
   *     invalid or cannot be honoured
   */
  public static Launch launch(List<String> args, Map<String, String> environment) {
    Path file = DynamicConfig.named(flags(new Wishes()).given(args));
    if (file == null) {
      return launch(args, environment, null);
    }
    List<String> all =
        new ArrayList<>(DynamicConfig.flags(file, flags(new Wishes()).flags(), environment));
    all.addAll(args);
    return launch(all, environment, file);
  }

  private static Launch launch(
      List<String> args, Map<String, String> environment, @Nullable Path file) {
    Translation into = new Translation();
    Wishes wishes = new Wishes();
    FlagTable flags = flags(wishes);
    behaviour(into.values());
    flags.applyDefaults(into);
    environment(environment, into);
    flags.apply(args, into);
    if (into.problems().isEmpty()) {
      retries(wishes, into);
      traces(wishes, into);
      batches(wishes, into);
      StackOperationFlags.settle(wishes, into);
      StackFleet.settle(wishes, into);
      ExternalProviders.settle(wishes, environment, into);
      StackLogic.settle(wishes, environment, into);
    }
    return new Launch(
        into.orThrow(),
        into.notes(),
        file,
        file == null ? Map.of() : DynamicConfig.shown(flags, args));
  }

  /** True if a flag of exactly this name is known. */
  public static boolean knows(String name) {
    return flags(new Wishes()).knows(name);
  }

  /** Help text: all flags with their effect in this router. */
  public static String help() {
    List<String> example =
        List.of(
            "--service-discovery=static",
            "--static-backends=http://engine:8000",
            "--static-models=m",
            "--routing-logic=roundrobin");
    return flags(new Wishes())
        .help(
            "pointsman production-stack [flags of the stack's router]",
            translate(example, Map.of()),
            Set.of(RoutingKeys.WORKERS, RoutingKeys.POLICY));
  }

  /** Sets behaviour of the stack's router that has no flag. */
  private static void behaviour(ConfigValues values) {
    values.set(HeaderKeys.REQUEST_ID_HEADERS, List.of("x-request-id"));
    values.set(ForwardKeys.RETRY_BUDGET, 1.0);
    values.set(ForwardKeys.RETRY_AFTER_LATE_RESET, true);
    values.set(FleetKeys.HEALTH_ANSWER, HealthAnswer.LIVE);
    values.set(AdminKeys.ENABLED, false);
    values.set(
        AdminKeys.REFUSED_PATHS,
        EngineControl.PATHS.stream().filter(path -> !BY_ENGINE_ID.contains(path)).toList());
    values.set(AdminKeys.STACK_ENDPOINTS, true);
    values.set(OperationKeys.METRICS_LIKE_STACK, true);
    values.set(OperationKeys.LOG_REQUESTS, true);
    values.set(OperationKeys.DRAIN_TIMEOUT, Translation.LONGEST_DRAIN);
    // The original uses one port, so several of its instances can run on one host.
    values.set(OperationKeys.METRICS_PORT, 0);
  }

  private static void environment(Map<String, String> environment, Translation into) {
    // For probes and batches; forwarded requests keep the client's Authorization.
    into.values().set(FleetKeys.HEALTH_API_KEY, environment.getOrDefault(ENGINES_KEY, "").strip());
    limit(environment, PREFILL_TIMEOUT, Duration.ofMinutes(5), into, DisaggKeys.PREFILL_TIMEOUT);
    limit(environment, DECODE_TIMEOUT, Duration.ofMinutes(10), into, DisaggKeys.DECODE_TIMEOUT);
    limit(
        environment,
        PROXY_TIMEOUT,
        NO_LIMIT,
        into,
        ForwardKeys.TOTAL_TIMEOUT,
        ForwardKeys.STREAM_TOTAL_TIMEOUT);
    String weight = environment.getOrDefault(LOAD_WEIGHT, "").strip();
    if (!weight.isEmpty()) {
      Translation.as(KvAwareKeys.LOAD_WEIGHT).apply(new Given(LOAD_WEIGHT, List.of(weight)), into);
    }
  }

  @SafeVarargs
  private static void limit(
      Map<String, String> environment,
      String name,
      Duration standard,
      Translation into,
      Key<Duration>... keys) {
    String given = environment.getOrDefault(name, "").strip();
    Duration limit = given.isEmpty() ? standard : limit(name, given, into);
    for (Key<Duration> key : keys) {
      into.values().set(key, limit);
    }
  }

  private static Duration limit(String name, String given, Translation into) {
    double seconds;
    try {
      seconds = Double.parseDouble(given);
    } catch (NumberFormatException e) {
      seconds = Double.NaN;
    }
    if (Double.isNaN(seconds) || seconds < 0) {
      into.problems().add(name + ": " + given + " (expected: seconds, 0 for no limit)");
      return NO_LIMIT;
    }
    if (seconds == 0 || seconds > LONGEST_LIMIT) {
      return NO_LIMIT;
    }
    return Duration.ofMillis(Math.max(1, Math.round(seconds * 1000)));
  }

  private static void retries(Wishes wishes, Translation into) {
    long reroutes = into.whole(wishes.as(StackFlags.REROUTES), 0, 99);
    if (reroutes >= 0) {
      into.values().set(ForwardKeys.RETRY_ENABLED, reroutes > 0);
      into.values().set(ForwardKeys.RETRY_ATTEMPTS, (int) reroutes + 1);
    }
  }

  private static void batches(Wishes wishes, Translation into) {
    if (wishes.has(StackOperationFlags.BATCHES)) {
      into.values().set(BatchKeys.ENABLED, true);
      into.values().set(BatchKeys.DIRECTORY, wishes.text(StackOperationFlags.FILES));
      into.values().set(BatchKeys.API_KEY, into.values().get(FleetKeys.HEALTH_API_KEY));
    }
  }

  private static void traces(Wishes wishes, Translation into) {
    boolean secure = wishes.has(StackOperationFlags.OTEL_SECURE);
    String endpoint = wishes.text(StackOperationFlags.OTEL_ENDPOINT);
    if (!endpoint.isEmpty()) {
      into.values().set(TracingKeys.ENABLED, true);
      into.values().set(TracingKeys.ENDPOINT, (secure ? "https://" : "http://") + bare(endpoint));
    }
  }

  private static String bare(String endpoint) {
    int scheme = endpoint.indexOf("://");
    return scheme < 0 ? endpoint : endpoint.substring(scheme + 3);
  }
}
