package io.pointsman.tool.sim;

import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The flags for KV transfer. */
final class KvFlags {
  @Spec(Target.MIXEE)
  private @Nullable CommandSpec command;

  @Option(
      names = "--role",
      defaultValue = "",
      description = "Role of the engine: prefill, decode or both. Empty: no KV transfer.")
  private String role = "";

  @Option(
      names = "--kv-connector",
      defaultValue = "none",
      description =
          "KV transfer protocol: nixl, nixl-push, lmcache, p2p-nccl, mooncake, moriio-read,"
              + " moriio-write (or moriio), sglang, orchestrated, or none (matched by content).")
  private String connector = "";

  @Option(
      names = "--lenient",
      description =
          "Count wrong fields and compute the prompt again instead of refusing the request, as real"
              + " engines do.")
  private boolean lenient;

  @Option(
      names = "--kv-direct",
      description =
          "Serve whole requests too, although the engine has a role. Not for p2p-nccl, moriio and"
              + " sglang, which cannot do this.")
  private boolean direct;

  @Option(
      names = "--kv-bidirectional",
      description = "nixl: a decode engine keeps its blocks and describes them in its answer.")
  private boolean bidirectional;

  @Option(
      names = "--kv-params-in-streams",
      description = "Describe them in the last chunk of a stream too. vLLM 0.32 does not.")
  private boolean paramsInStreams;

  @Option(
      names = "--kv-port",
      defaultValue = "0",
      description = "Port of the side channel or bootstrap server. 0: any free port.")
  private int port;

  @Option(
      names = "--kv-lease",
      defaultValue = "30",
      description = "Seconds for which a prefill engine keeps blocks for decode.")
  private double leaseSeconds;

  @Option(
      names = "--kv-decoder-ttl",
      defaultValue = "480",
      description = "Seconds for which a decode engine keeps blocks for the next turn.")
  private double decoderTtlSeconds;

  @Option(
      names = "--kv-wait",
      defaultValue = "300",
      description = "Maximum seconds that the prefill or decode request waits for the other one.")
  private double waitSeconds;

  @Option(
      names = "--kv-bytes-per-token",
      defaultValue = "131072",
      description = "KV bytes per token.")
  private long bytesPerToken;

  @Option(
      names = "--kv-bandwidth",
      defaultValue = "25",
      description = "Transfer rate between engines, in gigabytes per second. 0: no time.")
  private double gigabytesPerSecond;

  @Option(
      names = {"--tensor-parallel-size", "--tp-size"},
      defaultValue = "1",
      description = "Number of tensor-parallel ranks in the transfer parameters.")
  private int tpSize;

  @Option(
      names = {"--data-parallel-size", "--dp-size"},
      defaultValue = "1",
      description = "Number of data-parallel ranks in the transfer parameters.")
  private int dpSize;

  @Option(
      names = "--kv-init-ports",
      split = ",",
      description = "LMCache decode: init port of each rank. Default: free ports.")
  private List<Integer> initPorts = List.of();

  @Option(
      names = "--kv-alloc-ports",
      split = ",",
      description = "LMCache decode: alloc port of each rank. Default: free ports.")
  private List<Integer> allocPorts = List.of();

  @Option(
      names = "--kv-router",
      defaultValue = "",
      description = "host:port of the router's ZeroMQ socket for registrations or notifications.")
  private String router = "";

  @Option(names = "--kv-ping", defaultValue = "2", description = "Seconds between registrations.")
  private double pingSeconds;

  @Option(
      names = "--kv-store",
      defaultValue = "",
      description =
          "host:port of the side channel with the shared store. Empty: this engine's own.")
  private String store = "";

  @Option(
      names = "--kv-log",
      defaultValue = "0",
      description = "Number of requests kept with headers and body for GET /sim/requests. 0: none.")
  private int logged;

  /** Returns the options; null without a role. */
  @Nullable KvOptions options() {
    if (role.isEmpty()) {
      refuseWithoutRole();
      return null;
    }
    return new KvOptions(
        role(role),
        KvConnector.of(connector),
        lenient,
        direct,
        bidirectional,
        paramsInStreams,
        port,
        leaseSeconds,
        decoderTtlSeconds,
        waitSeconds,
        bytesPerToken,
        gigabytesPerSecond,
        tpSize,
        dpSize,
        initPorts,
        allocPorts,
        router,
        pingSeconds,
        store,
        logged);
  }

  private static KvRole role(String text) {
    for (KvRole role : KvRole.values()) {
      if (role.label().equals(text.toLowerCase(Locale.ROOT))) {
        return role;
      }
    }
    throw new IllegalArgumentException("role: " + text + " (expected: prefill, decode or both)");
  }

  private void refuseWithoutRole() {
    if (command == null) {
      return;
    }
    command.commandLine().getParseResult().matchedOptions().stream()
        .map(OptionSpec::longestName)
        .filter(KvFlags::needsRole)
        .findFirst()
        .ifPresent(
            name -> {
              throw new IllegalArgumentException(
                  name.substring(2) + ": set without --role (expected: both)");
            });
  }

  private static boolean needsRole(String flag) {
    return switch (flag) {
      case "--kv-blocks" -> false;
      case "--lenient", "--tensor-parallel-size", "--data-parallel-size" -> true;
      default -> flag.startsWith("--kv-") && !flag.startsWith("--kv-events");
    };
  }
}
