package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.peer.Peers;
import io.pointsman.engine.env.Ticker;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The protocols by name: the value of configuration, the label in metrics, the class's stem. */
public final class Protocols {
  /** Makes a protocol. */
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
   * Those whose engines take each request for half of a hand-over, whatever it says: without a room
   * SGLang refuses it; vLLM's P2P NCCL and MoRI-IO connectors count its prompt as computed
   * elsewhere, so that they fail, wait for blocks that nobody sends, or answer from memory that was
   * never written.
   */
  private static final Set<String> HALVES_ONLY = Set.of("moriio", "p2p_nccl", "sglang");

  private Protocols() {}

  /** All names, sorted. */
  public static List<String> names() {
    return List.copyOf(FACTORIES.keySet());
  }

  /**
   * Whether a prefill or decode worker can serve a request without a hand-over, as far as its
   * protocol goes.
   */
  public static boolean servesWhole(String name) {
    return !HALVES_ONLY.contains(name);
  }

  /**
   * A protocol of its own.
   *
   * @throws IllegalArgumentException if none has this name; the message tells all names
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

  /** Of those whose decode engines fetch what they miss. */
  private static PdSetup missing(PdProtocol protocol) {
    return new PdSetup(protocol, List.of(), true);
  }

  private static PdSetup nixl(ProtocolSettings settings, Ticker ticker) {
    NixlMemory memory = new NixlMemory(settings, ticker);
    return new PdSetup(new NixlProtocol(memory, settings), List.of(memory), true);
  }
}
