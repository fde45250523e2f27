package io.pointsman.tool.demo;

import io.netty.channel.EventLoopGroup;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.tool.sim.FreePorts;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Simulated prefill and decode engines, with the matching router configuration. A wrong hand-over
 * field is an error. Engines also serve requests without a hand-over.
 */
public final class PdEngines implements AutoCloseable {
  private static final double PING_SECONDS = 0.5;

  private final KvConnector connector;
  private final String router;
  private final List<SimEngine> prefills = new ArrayList<>();
  private final List<SimEngine> decodes = new ArrayList<>();

  /**
   * Totals of a fleet's hand-overs.
   *
   * @param transfers completed transfers
   * @param tokens transferred tokens
   * @param reserved prefills with blocks reserved at present
   * @param leaked prefills with blocks that no engine fetched before the lease ended
   * @param fieldErrors wrong fields
   */
  public record Handovers(
      long transfers, long tokens, int reserved, long leaked, long fieldErrors) {}

  private PdEngines(KvConnector connector) {
    this.connector = connector;
    router = "127.0.0.1:" + FreePorts.next();
  }

  /**
   * Starts engines.
   *
   * @param config configuration of each engine, except role and id
   * @param options hand-over options, except role and connector
   */
  public static PdEngines start(
      int prefills,
      int decodes,
      KvConnector connector,
      SimConfig config,
      UnaryOperator<KvOptions> options,
      EventLoopGroup loops) {
    PdEngines fleet = new PdEngines(connector);
    try {
      for (int i = 1; i <= prefills; i++) {
        fleet.prefills.add(
            fleet.engine(KvRole.PREFILL, config.withId("prefill-" + i), options, loops));
      }
      for (int i = 1; i <= decodes; i++) {
        fleet.decodes.add(
            fleet.engine(KvRole.DECODE, config.withId("decode-" + i), options, loops));
      }
      return fleet;
    } catch (RuntimeException e) {
      fleet.close();
      throw e;
    }
  }

  private SimEngine engine(
      KvRole role, SimConfig config, UnaryOperator<KvOptions> options, EventLoopGroup loops) {
    KvOptions kv = options.apply(KvOptions.of(role, connector).withDirect(true));
    boolean speaks = connector.registers() || connector == KvConnector.LMCACHE;
    if (speaks) {
      kv = kv.withRouter(router, PING_SECONDS);
    }
    boolean shares = connector == KvConnector.NONE && !prefills.isEmpty();
    if (shares) {
      kv = kv.withStore("127.0.0.1:" + prefills.getFirst().kvState().port());
    }
    return SimEngine.start(config.withKv(kv), loops);
  }

  public List<SimEngine> prefills() {
    return List.copyOf(prefills);
  }

  public List<SimEngine> decodes() {
    return List.copyOf(decodes);
  }

  /** All engines, prefill first. */
  public List<SimEngine> engines() {
    return Stream.concat(prefills.stream(), decodes.stream()).toList();
  }

  /** Sets the engines and their protocol in a router configuration. */
  public ConfigValues configure(ConfigValues values) {
    List<WorkerSpec> workers = new ArrayList<>();
    prefills.forEach(engine -> workers.add(worker(engine, Role.PREFILL)));
    decodes.forEach(engine -> workers.add(worker(engine, Role.DECODE)));
    values.set(RoutingKeys.WORKERS, workers).set(DisaggKeys.PROTOCOL, protocol());
    if (connector.registers()) {
      values.set(PeerKeys.REGISTRATION_ADDRESS, router);
    }
    if (connector == KvConnector.LMCACHE) {
      values.set(PeerKeys.NOTIFICATION_ADDRESS, router);
    }
    return values;
  }

  /** True if hand-overs must wait until the engines have registered with the router. */
  boolean registers() {
    return connector.registers();
  }

  /** The protocol's name in the router configuration. */
  private String protocol() {
    return switch (connector) {
      case NIXL, NIXL_PUSH -> "nixl";
      case LMCACHE -> "lmcache";
      case P2P_NCCL -> "p2p_nccl";
      case MOONCAKE -> "mooncake";
      case MORIIO_READ, MORIIO_WRITE -> "moriio";
      case SGLANG -> "sglang";
      case ORCHESTRATED -> "orchestrated";
      case NONE -> "transparent";
    };
  }

  private WorkerSpec worker(SimEngine engine, Role role) {
    Map<String, String> labels = new HashMap<>();
    KvState kv = engine.kvState();
    if (connector == KvConnector.MOONCAKE || connector == KvConnector.SGLANG) {
      labels.put(PeerLabels.BOOTSTRAP_PORT, Integer.toString(kv.port()));
    }
    if (connector == KvConnector.LMCACHE && role == Role.DECODE) {
      String receiver =
          engine.config().host() + "/" + ports(kv.initPorts()) + "/" + ports(kv.allocPorts());
      labels.put(PeerLabels.RECEIVER, receiver);
    }
    Set<String> models = Set.copyOf(engine.config().profile().models());
    return new WorkerSpec(engine.id(), engine.url(), role, models, WorkerSpec.NO_RANK, 0, labels);
  }

  private static String ports(List<Integer> ports) {
    return ports.toString().replaceAll("[\\[\\] ]", "");
  }

  /** The hand-overs up to here. */
  public Handovers handovers() {
    int reserved = 0;
    long leaked = 0;
    long errors = 0;
    for (SimEngine engine : engines()) {
      KvState kv = engine.kvState();
      reserved += kv.reserved().requests();
      leaked += kv.reserved().leaked();
      errors += kv.fieldErrorsInAll();
    }
    // The engine that moves the blocks counts them: decode when it pulls, prefill when it pushes.
    boolean pulled = sum(decodes, KvState.Transfers::finished) > 0;
    List<SimEngine> movers = pulled ? decodes : prefills;
    return new Handovers(
        sum(movers, KvState.Transfers::finished),
        sum(movers, KvState.Transfers::tokens),
        reserved,
        leaked,
        errors);
  }

  private static long sum(List<SimEngine> engines, ToLongFunction<KvState.Transfers> figure) {
    return engines.stream()
        .mapToLong(engine -> figure.applyAsLong(engine.kvState().transfers()))
        .sum();
  }

  @Override
  public void close() {
    engines().forEach(SimEngine::close);
  }
}
