package io.pointsman.tool.sim;

import io.pointsman.tool.sim.api.FailureJson;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.http.SimConnectionOptions;
import io.pointsman.tool.sim.kv.KvState;
import io.pointsman.tool.sim.live.EngineProfile;
import io.pointsman.tool.sim.schedule.EngineLimits;
import io.pointsman.tool.sim.schedule.LinearLatency;
import io.pointsman.tool.sim.schedule.ServiceProfile;
import io.pointsman.tool.sim.schedule.ServiceProfiles;
import io.pointsman.tool.sim.schedule.SimLatencyModel;
import io.pointsman.tool.sim.zmq.EventPublisher;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The command {@code pointsman engine}: runs one simulated engine until the process is stopped. */
@Command(
    name = "engine",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = "Run one simulated inference engine.",
    showDefaultValues = true)
public final class EngineCommand implements Callable<Integer> {
  @Spec private @Nullable CommandSpec spec;

  @Option(names = "--host", defaultValue = "127.0.0.1", description = "Address to listen on.")
  private String host = "";

  @Option(
      names = "--port",
      defaultValue = "8000",
      description = "Port to listen on. 0: any free port.")
  private int port;

  @Option(
      names = "--admin-port",
      defaultValue = "-1",
      description = "Second port that failures never close. -1: none; 0: any free port.")
  private int adminPort;

  @Option(
      names = "--id",
      defaultValue = "",
      description = "Value of the x-engine-id header. Empty: host:port.")
  private String id = "";

  @Option(
      names = {"--model", "--served-model-name"},
      split = ",",
      defaultValue = "sim",
      description = "Names of the served models, separated by commas. The first is the base model.")
  private List<String> models = List.of();

  @Option(
      names = "--prefill-tokens-per-s",
      description =
          "Prompt tokens computed per second. 0: no time. This flag and --decode-ms replace the"
              + " step model; if one of them is missing, its part takes no time.")
  private @Nullable Double prefillTokensPerSecond;

  @Option(
      names = "--decode-ms",
      description = "Milliseconds per decoded token. 0: no time. See --prefill-tokens-per-s.")
  private @Nullable Double decodeMillis;

  @Option(
      names = "--profile",
      description =
          "Type of engine: model, GPUs, and how it forms steps. One of ${COMPLETION-CANDIDATES}."
              + " Default: 8b.",
      completionCandidates = Profiles.class)
  private @Nullable String profile;

  @Option(
      names = "--kv-blocks",
      description = "KV memory in blocks. Default: as in --profile, or 25,000.")
  private @Nullable Integer kvBlocks;

  @Option(names = "--block-size", defaultValue = "16", description = "Tokens per KV block.")
  private int blockSize;

  @Option(
      names = {"--max-running", "--max-num-seqs"},
      description = "Maximum number of sequences in the batch. Default: 256.")
  private @Nullable Integer maxRunning;

  @Option(
      names = "--max-num-batched-tokens",
      description = "Maximum tokens per step. Default: as in the profile (8b: 8,192).")
  private @Nullable Integer maxBatchedTokens;

  @Option(
      names = "--max-model-len",
      defaultValue = "131072",
      description =
          "Maximum length of prompt and output together, in tokens. Longer requests get 400.")
  private String maxModelLen = "";

  @Option(
      names = "--max-num-queued-reqs",
      defaultValue = "0",
      description = "Answer 503 if this many sequences are running or waiting. 0: no limit.")
  private String maxQueuedRequests = "";

  @Option(
      names = "--max-num-queued-tokens",
      defaultValue = "0",
      description =
          "Answer 503 if this many prompt tokens wait for prefill. 32k is 32000, 32K is 32768. 0:"
              + " no limit.")
  private String maxQueuedTokens = "";

  @Option(
      names = "--output-tokens",
      defaultValue = "64",
      description = "Output tokens if a request sets no length.")
  private int outputTokens;

  @Option(
      names = "--embedding-dimensions",
      defaultValue = "64",
      description = "Length of embedding vectors.")
  private int embeddingDimensions;

  @Option(
      names = "--max-stored-responses",
      defaultValue = "1000",
      description = "Maximum number of stored responses. The oldest is deleted first.")
  private int maxStoredResponses;

  @Option(
      names = "--enable-scale-out",
      description =
          "Serve the render endpoints and /inference/v1/generate, as vLLM does with this flag.")
  private boolean scaleOut;

  @Option(names = "--speed", defaultValue = "1", description = "Simulated seconds per real second.")
  private double speed;

  @Option(names = "--seed", defaultValue = "0", description = "Seed for output texts and failures.")
  private long seed;

  @Option(
      names = "--keep-alive-seconds",
      defaultValue = "5",
      description = "Close idle connections after this time. 0: never.")
  private double keepAliveSeconds;

  @Option(
      names = "--gzip",
      description = "Compress non-streamed responses if the client accepts it.")
  private boolean gzip;

  @Option(
      names = "--max-body-bytes",
      defaultValue = "268435456",
      description = "Maximum request body in bytes. Larger bodies get 413.")
  private int maxBodyBytes;

  @Option(
      names = "--failure",
      paramLabel = "JSON",
      description =
          "Failure that is active from the start, in the JSON of POST /sim/failures. Can be"
              + " repeated.")
  private List<String> failures = new ArrayList<>();

  @Mixin private final KvFlags kv = new KvFlags();

  @Mixin private final EventFlags events = new EventFlags();

  @Override
  public Integer call() throws InterruptedException {
    CommandSpec commandSpec = spec();
    SimConfig config;
    try {
      config = config();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(commandSpec.commandLine(), String.valueOf(e.getMessage()), e);
    }
    try (SimEngine engine = SimEngine.start(config)) {
      PrintWriter out = commandSpec.commandLine().getOut();
      out.println(
          "engine " + engine.id() + " serves " + String.join(", ", models) + " at " + engine.url());
      if (engine.adminPort() >= 0) {
        out.println("admin port " + engine.adminPort());
      }
      if (config.kv() != null) {
        report(engine.kvState(), out);
      }
      if (config.events() != null) {
        EventPublisher publisher = engine.events();
        out.println(
            "KV events at port " + publisher.port() + ", replay port " + publisher.replayPort());
      }
      out.flush();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> terminated(engine), "sim-engine-end"));
      engine.awaitDeath();
      return ExitCode.SOFTWARE;
    } catch (UncheckedIOException e) {
      PrintWriter err = commandSpec.commandLine().getErr();
      err.println(commandSpec.qualifiedName() + ": " + e.getMessage());
      err.flush();
      return ExitCode.SOFTWARE;
    }
  }

  /** SIGTERM: the process ends when its clients have left, as vLLM's does. */
  private static void terminated(SimEngine engine) {
    engine.terminate(0);
    engine.awaitNoClients();
  }

  private static void report(KvState state, PrintWriter out) {
    out.println(
        state.role() + " by " + state.connector() + ", side channel at port " + state.port());
    if (!state.initPorts().isEmpty()) {
      out.println("init ports " + state.initPorts() + ", alloc ports " + state.allocPorts());
    }
  }

  SimConfig config() {
    ServiceProfile kind =
        profile == null ? ServiceProfiles.DEFAULT : ServiceProfiles.of("profile", profile);
    EngineProfile answers =
        new EngineProfile(
            models, outputTokens, embeddingDimensions, maxStoredResponses, scaleOut, seed);
    SimConnectionOptions connections =
        new SimConnectionOptions(keepAliveSeconds, gzip, maxBodyBytes);
    List<ScheduledFault> parsed = failures.stream().map(FailureJson::parse).toList();
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        answers,
        limits(kind),
        latency(kind),
        speed,
        connections,
        parsed,
        kv.options(),
        events.options());
  }

  /**
   * Parses a count with vLLM's units: {@code k} is 1,000, {@code K} is 1,024, likewise {@code m}
   * and {@code M}.
   */
  static long size(String name, String text) {
    String digits = text.trim();
    long unit = 1;
    if (!digits.isEmpty()) {
      unit =
          switch (digits.charAt(digits.length() - 1)) {
            case 'k' -> 1000;
            case 'K' -> 1 << 10;
            case 'm' -> 1_000_000;
            case 'M' -> 1 << 20;
            default -> 1;
          };
    }
    if (unit != 1) {
      digits = digits.substring(0, digits.length() - 1);
    }
    if (!digits.matches("[0-9]{1,9}") || unit * Long.parseLong(digits) > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          name + ": " + text + " (expected: a count such as 32000, 32k or 32K)");
    }
    return unit * Long.parseLong(digits);
  }

  private EngineLimits limits(ServiceProfile kind) {
    return new EngineLimits(
        kvBlocks == null ? blocks(kind) : kvBlocks,
        blockSize,
        maxRunning == null ? kind.batch() : maxRunning,
        maxBatchedTokens == null ? kind.stepTokens() : maxBatchedTokens,
        (int) size("max-model-len", maxModelLen),
        (int) size("max-num-queued-reqs", maxQueuedRequests),
        size("max-num-queued-tokens", maxQueuedTokens),
        kind.rules());
  }

  private int blocks(ServiceProfile kind) {
    return profile == null
        ? EngineLimits.DEFAULT.kvBlocks()
        : Math.max(1, kind.kvTokens() / Math.max(1, blockSize));
  }

  /** The profile names, for help texts. */
  static final class Profiles implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return ServiceProfiles.names().iterator();
    }
  }

  private SimLatencyModel latency(ServiceProfile kind) {
    Double prefill = prefillTokensPerSecond;
    Double decode = decodeMillis;
    if (prefill == null && decode == null) {
      return kind.latency();
    }
    return new LinearLatency(prefill == null ? 0 : prefill, decode == null ? 0 : decode);
  }

  private CommandSpec spec() {
    if (spec == null) {
      throw new IllegalStateException("spec: not set (expected: to be run by picocli)");
    }
    return spec;
  }
}
