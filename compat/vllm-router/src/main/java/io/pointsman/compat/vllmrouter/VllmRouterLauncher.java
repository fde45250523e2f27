package io.pointsman.compat.vllmrouter;

import io.pointsman.config.AuthRecords;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Translates the command line of vllm-router 0.1.17 into the configuration. Accepts the spellings
 * of its Rust binary and its Python launcher. Only the configuration differs from other launchers.
 */
public final class VllmRouterLauncher {
  private static final String SESSION_EXPIRATION = "VLLM_ROUTER_SLL_SESSION_EXPIRATION_IN_S";
  private static final String KEY_VALIDATION = "API_KEY_VALIDATION_URLS";

  /** All flags, in order of documentation. */
  static final FlagTable FLAGS =
      new FlagTable(
          true,
          "In",
          List.of(
              VllmRouterFlags.listener(),
              VllmRouterFlags.routing(),
              VllmRouterFlags.watching(),
              VllmRouterFlags.forwarding(),
              VllmRouterFlags.operation(),
              TracingFlags.all(),
              DiscoveryFlags.all(),
              PdFlags.all(),
              LaterFlags.disaggregation(),
              KvEventFlags.all(),
              KvAwareFlags.all(),
              LaterFlags.scheduling(),
              LaterFlags.platform()));

  private VllmRouterLauncher() {}

  /**
   * The configuration for a command line.
   *
   * @param environment environment variables of the process
   * @throws ConfigException with all reasons, if a flag is unknown, invalid or cannot be honoured
   */
  public static ConfigValues translate(List<String> args, Map<String, String> environment) {
    return translate(args, environment, Path.of("").toAbsolutePath());
  }

  /**
   * @param directory absolute path of the working directory
   */
  static ConfigValues translate(
      List<String> args, Map<String, String> environment, Path directory) {
    Translation into = new Translation();
    behaviour(into.values());
    FLAGS.applyDefaults(into);
    environment(environment, into);
    TracingFlags.standard(into.values(), environment, into);
    FLAGS.apply(args, into);
    keysInFile(environment, directory, into);
    into.backend().settle(into);
    List<WorkerSpec> workers = new ArrayList<>(workers(into));
    workers.addAll(into.pd().settle(environment, into));
    KvAwareFlags.settle(into);
    into.values().set(RoutingKeys.WORKERS, KvEventFlags.settle(workers, into));
    DiscoveryFlags.finish(into);
    return withWorkerApi(into.orThrow());
  }

  /**
   * The original has its worker API on the port of clients. This router has it there without a flag
   * only if no other machine reaches the port, and clients have no keys.
   */
  private static ConfigValues withWorkerApi(ConfigValues values) {
    boolean local = AccessSettings.isLocal(values.get(FrontKeys.HOST));
    boolean keys = AuthRecords.from(values).keysNeeded();
    boolean admins = values.has(AccessKeys.API_KEY) || values.has(AccessKeys.API_KEY_FILE);
    if (!values.has(AccessKeys.ON_CLIENT_PORT) && local && (admins || !keys)) {
      values.set(AccessKeys.ON_CLIENT_PORT, true);
    }
    return values;
  }

  /** True if a flag of exactly this name is known. */
  public static boolean knows(String name) {
    return FLAGS.knows(name);
  }

  /** Help text: all flags with their effect in this router. */
  public static String help() {
    // With the variable set, a file .env in the working directory is not looked for.
    Map<String, String> environment = Map.of(KEY_VALIDATION, "");
    return FLAGS.help(
        "pointsman vllm-router [flags of vllm-router 0.1.17]",
        translate(List.of("--worker-urls", "http://engine:8000"), environment),
        Set.of(RoutingKeys.WORKERS));
  }

  /** Sets behaviour of vllm-router that has no flag. */
  private static void behaviour(ConfigValues values) {
    values.set(FleetKeys.HEALTH_ANSWER, HealthAnswer.ALL);
    values.set(HeaderKeys.CORS_ENABLED, true);
    values.set(FrontKeys.STANDARD_METHODS, true);
    values.set(QueueKeys.QUEUE_TIMEOUT_STATUS, 408);
    values.set(RoutingKeys.UNKNOWN_MODEL, UnknownModel.ANY_WORKER);
    values.set(ForwardKeys.CONNECT_TIMEOUT, Duration.ofSeconds(10));
    values.set(ForwardKeys.RETRY_BUDGET, 1.0);
    values.set(ForwardKeys.RETRY_AFTER_LATE_RESET, true);
    values.set(OperationKeys.DRAIN_TIMEOUT, Translation.LONGEST_DRAIN);
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

  /**
   * Refuses to start if only a {@code .env} file names validation servers. vllm-router reads that
   * file; this router does not, and would admit every client.
   */
  private static void keysInFile(
      Map<String, String> environment, Path directory, Translation into) {
    boolean given =
        environment.containsKey(KEY_VALIDATION)
            || !into.values().get(AdminKeys.VALIDATION_URLS).isEmpty()
            || into.own().has(AdminKeys.VALIDATION_URLS);
    Path file = given ? null : EnvFile.setting(KEY_VALIDATION, directory);
    if (file != null) {
      into.problems()
          .add(
              KEY_VALIDATION
                  + ": set in "
                  + file
                  + ", but the router does not read this file (expected: an environment variable or"
                  + " --api-key-validation-urls)");
    }
  }

  private static List<WorkerSpec> workers(Translation into) {
    List<WorkerSpec> workers = new ArrayList<>();
    for (String url : into.workerUrls()) {
      if (url.startsWith("grpc://")) {
        into.problems().add("--worker-urls: " + url + " is not supported yet: engines behind gRPC");
      } else if (Urls.valid(url)) {
        workers.addAll(Urls.ranks(WorkerSpec.of(Urls.trimmed(url)), into.dataParallelSize()));
      } else {
        into.problems()
            .add("--worker-urls: " + WorkerSpec.shown(url) + " (expected: http://host:port)");
      }
    }
    return workers;
  }
}
