package io.pointsman.pd.protocol;

import io.pointsman.engine.env.Ticker;
import io.pointsman.pd.peer.Peers;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The protocols by name. The name is the configuration value, the metric label and the stem of the
 * class name.
 */
public final class Protocols {
  /** Creates a protocol. */
  private interface Factory {
    PdSetup create(Peers peers, ProtocolSettings settings, Ticker ticker);
  }

  private static final Map<String, Factory> FACTORIES =
      new TreeMap<>(
          Map.of(
              "lmcache", (peers, settings, _) -> plain(new LmcacheProtocol(peers, settings)),
              "mooncake", (peers, settings, _) -> missing(new MooncakeProtocol(peers, settings)),
              "moriio", (peers, settings, _) -> plain(new MoriioProtocol(peers, settings)),
              "nixl", (_, settings, ticker) -> nixl(settings, ticker),
              "orchestrated", (_, settings, _) -> plain(new OrchestratedProtocol(settings)),
              "p2p_nccl", (peers, settings, _) -> plain(new P2pNcclProtocol(peers, settings)),
              "sglang", (peers, _, _) -> plain(new SglangProtocol(peers)),
              "transparent", (_, settings, _) -> missing(new TransparentProtocol(settings))));

  /**
   * Protocols that treat every request as half of a handover. SGLang refuses a request without a
   * room. vLLM's P2P NCCL and MoRI-IO connectors assume that another engine computes the prompt.
   * They then fail, wait for blocks forever, or read uninitialised memory.
   */
  private static final Set<String> HALVES_ONLY = Set.of("moriio", "p2p_nccl", "sglang");

  private Protocols() {}

  /** All names, sorted. */
  public static List<String> names() {
    return List.copyOf(FACTORIES.keySet());
  }

  /**
   * Returns true if the protocol lets a prefill or decode worker serve a request without a
   * handover.
   */
  public static boolean servesWhole(String name) {
    return !HALVES_ONLY.contains(name);
  }

  /**
   * Returns true if decode workers find the blocks by the content of prompts. One hand-over then
   * serves several prompts.
   */
  public static boolean findsByContent(String name) {
    return name.equals("transparent");
  }

  /**
   * Creates a protocol with its own state.
   *
   * @throws IllegalArgumentException if the name is unknown; the message lists all names
   */
  public static PdSetup create(String name, Peers peers, ProtocolSettings settings, Ticker ticker) {
    Factory factory = FACTORIES.get(name);
    if (factory == null) {
      throw new IllegalArgumentException(
          "protocol: %s (expected: one of %s)".formatted(name, String.join(", ", names())));
    }
    return factory.create(peers, settings, ticker);
  }

  private static PdSetup plain(PdProtocol protocol) {
    return new PdSetup(protocol, List.of(), false);
  }

  /** A protocol with decode engines that fetch only missing blocks. */
  private static PdSetup missing(PdProtocol protocol) {
    return new PdSetup(protocol, List.of(), true);
  }

  private static PdSetup nixl(ProtocolSettings settings, Ticker ticker) {
    NixlMemory memory = new NixlMemory(settings, ticker);
    return new PdSetup(new NixlProtocol(memory, settings), List.of(memory), true);
  }
}
