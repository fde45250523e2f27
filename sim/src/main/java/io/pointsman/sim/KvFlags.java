package io.pointsman.sim;

import io.pointsman.sim.kv.KvConnector;
import io.pointsman.sim.kv.KvOptions;
import io.pointsman.sim.kv.KvRole;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.Spec.Target;

/** The flags of an engine that hands KV over. */
final class KvFlags {
  @Spec(Target.MIXEE)
  private @Nullable CommandSpec command;

  @Option(
      names = "--role",
      defaultValue = "",
      description = "prefill, decode or both; without it the engine keeps to itself.")
  private String role = "";

  @Option(
      names = "--kv-connector",
      defaultValue = "none",
      description =
          "nixl, nixl-push, lmcache, p2p-nccl, mooncake, moriio-read, moriio-write (or moriio),"
              + " sglang, orchestrated or none (found by content).")
  private String connector = "";

  @Option(
      names = "--lenient",
      description = "Count wrong fields and compute the prompt again, as real engines do.")
  private boolean lenient;

  @Option(
      names = "--kv-direct",
      description =
          "Serve requests without a hand-over whole, also with one role; not for p2p-nccl, moriio"
              + " and sglang, whose engines cannot.")
  private boolean direct;

  @Option(
      names = "--kv-bidirectional",
      description = "Decode keeps its blocks and describes them in its last chunk (nixl).")
  private boolean bidirectional;

  @Option(
      names = "--kv-port",
      defaultValue = "0",
      description = "Port of the side channel or bootstrap server; 0 takes any free one.")
  private int port;

  @Option(
      names = "--kv-lease",
      defaultValue = "30",
      description = "Seconds for which blocks are held for decode.")
  private double leaseSeconds;

  @Option(
      names = "--kv-decoder-ttl",
      defaultValue = "480",
      description = "Seconds for which decode keeps blocks for the next turn.")
  private double decoderTtlSeconds;

  @Option(
      names = "--kv-wait",
      defaultValue = "300",
      description = "Seconds that one leg waits for the other.")
  private double waitSeconds;

  @Option(
      names = "--kv-bytes-per-token",
      defaultValue = "131072",
      description = "Bytes of KV per token.")
  private long bytesPerToken;

  @Option(
      names = "--kv-bandwidth",
      defaultValue = "25",
      description = "Gigabytes a second between engines; 0: no time.")
  private double gigabytesPerSecond;

  @Option(
      names = {"--tensor-parallel-size", "--tp-size"},
      defaultValue = "1",
      description = "Tensor-parallel ranks that hand-overs tell.")
  private int tpSize;

  @Option(
      names = {"--data-parallel-size", "--dp-size"},
      defaultValue = "1",
      description = "Data-parallel ranks that hand-overs tell.")
  private int dpSize;

  @Option(
      names = "--kv-init-ports",
      split = ",",
      description = "LMCache decode: init port of each rank; without it any free ones.")
  private List<Integer> initPorts = List.of();

  @Option(
      names = "--kv-alloc-ports",
      split = ",",
      description = "LMCache decode: alloc port of each rank; without it any free ones.")
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
      description = "host:port of the side channel that keeps the shared store; empty: its own.")
  private String store = "";

  @Option(
      names = "--kv-log",
      defaultValue = "0",
      description = "Requests kept with headers and body for GET /sim/requests; 0: none.")
  private int logged;

  /** What the flags say; null without a role. */
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
                  name.substring(2) + ": set without a role (expected: --role as well)");
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
