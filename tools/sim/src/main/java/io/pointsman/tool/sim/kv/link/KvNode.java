package io.pointsman.tool.sim.kv.link;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.http.SimEndpoint;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.KvCounters;
import io.pointsman.tool.sim.kv.KvLedger;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvSelf;
import io.pointsman.tool.sim.kv.KvState;
import io.pointsman.tool.sim.kv.RequestLog;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import io.pointsman.tool.sim.kv.protocol.KvProtocol;
import io.pointsman.tool.sim.kv.protocol.KvRequest;
import io.pointsman.tool.sim.kv.protocol.Task;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.EngineDriver;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.HandOver;
import io.pointsman.tool.sim.live.HandOvers;
import io.pointsman.tool.sim.live.WholeRequest;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One engine's part in KV transfers. Owned by the event loop. */
public final class KvNode implements HandOvers {
  private static final Set<String> PATHS =
      Set.of(
          "/v1/chat/completions",
          "/v1/completions",
          "/v1/responses",
          "/v1/messages",
          "/generate",
          "/inference/v1/generate",
          "/custom/generate");

  private final EngineCore engine;
  private final KvOptions options;
  private final KvProtocol protocol;
  private final Notifier notifier;
  private final PeerClient peers;
  private final KvLedger ledger = new KvLedger();
  private final ReservedBlockTable reservedBlocks;
  private final KvCounters counters = new KvCounters();
  private final RequestLog log;
  private final BlockStore store = new BlockStore();
  private final PushedKv arrivals;
  private KvSelf self;
  private List<Integer> initPorts = List.of();
  private List<Integer> allocPorts = List.of();

  /**
   * Creates a node without an identity.
   *
   * @param clients channel type of the connections to other engines
   */
  public KvNode(
      EngineCore engine,
      KvOptions options,
      EventLoop loop,
      Class<? extends Channel> clients,
      Notifier notifier) {
    this.engine = engine;
    this.options = options;
    this.protocol = KvProtocol.of(options.connector());
    this.notifier = notifier;
    this.peers = new PeerClient(loop, clients);
    this.reservedBlocks = new ReservedBlockTable(engine, ledger);
    this.log = new RequestLog(options.logged());
    this.arrivals = new PushedKv(options.tpSize());
    this.self = new KvSelf(options, "", "", 0);
  }

  /** Creates the endpoint of the side channel. */
  public SimEndpoint sideChannel() {
    return new SideApi(this);
  }

  /** Creates the endpoint of a rank's LMCache port. */
  public SimEndpoint receiver(boolean alloc, int rank) {
    return arrivals.port(alloc, rank);
  }

  /** Starts the engine with a new id and known addresses. */
  public void begin(
      String engineId, String host, int port, List<Integer> inits, List<Integer> allocs) {
    self = new KvSelf(options, engineId, host, port);
    initPorts = inits;
    allocPorts = allocs;
  }

  /** Drops all reserved blocks, like an engine that dies. */
  public void die() {
    ledger.clear();
    arrivals.clear();
    store.clear();
    peers.close();
  }

  /** The engine's identity. */
  public KvSelf self() {
    return self;
  }

  /** The last requests, byte by byte. */
  public RequestLog log() {
    return log;
  }

  /** The actual state at this moment. */
  public KvState state() {
    return new KvState(
        options.role().label(),
        options.connector().label(),
        self.engineId(0),
        self.port(),
        initPorts,
        allocPorts,
        counters.steps(),
        ledger.state(),
        counters.transfers(ledger.waiting()),
        counters.fieldErrors(),
        counters.reasons());
  }

  /** Resets all counters to zero. */
  public void resetCounters() {
    counters.reset();
    ledger.resetCounters();
  }

  @Override
  public HandOver open(SimExchange exchange, Generation asked) {
    String path = exchange.path();
    if (!PATHS.contains(path)) {
      return new WholeRequest(asked);
    }
    long serial = engine.nextSerial();
    KvRequest request =
        new KvRequest(
            path,
            requestId(exchange, serial),
            exchange.headers().get("X-data-parallel-rank", ""),
            exchange.json(),
            asked,
            serial);
    try {
      return step(exchange, request);
    } catch (FieldError e) {
      counters.wrong(e);
      if (!options.lenient()) {
        throw e.toRequestError();
      }
      counters.recomputed();
      return new WholeRequest(asked);
    }
  }

  private String requestId(SimExchange exchange, long serial) {
    if (!exchange.path().equals(KvRequest.RESPONSES)) {
      return exchange.headers().get("X-Request-Id", "");
    }
    long own = BlockHashes.mix(serial ^ ((long) self.engineId(0).hashCode() << 32));
    return exchange.json().path("request_id").asText("resp_" + HexFormat.of().toHexDigits(own));
  }

  private HandOver step(SimExchange exchange, KvRequest request) {
    return switch (protocol.read(request, self)) {
      case Task.Direct direct -> {
        if (!servesDirectly(request)) {
          String field = options.connector().required();
          String expected =
              "what a " + options.role().label() + " engine needs, unless --kv-direct is set";
          throw FieldError.wrong(field, "missing", expected);
        }
        counters.direct();
        yield new WholeRequest(request.generation());
      }
      case Task.Produce produce -> {
        counters.prefill();
        yield new SimPrefillStep(this, exchange, request, produce);
      }
      case Task task -> {
        counters.decode();
        yield new SimDecodeStep(this, exchange, request, task);
      }
    };
  }

  /** Returns true if a request without a handover is served completely. */
  boolean servesDirectly(KvRequest request) {
    boolean direct = options.direct() && options.connector().servesDirectly();
    return options.role() == KvRole.BOTH || direct || tooShort(request);
  }

  /**
   * Returns true if a prompt has no complete block; connectors that move blocks then transfer
   * nothing.
   */
  boolean tooShort(KvRequest request) {
    return switch (options.connector()) {
      case NIXL, NIXL_PUSH, ORCHESTRATED, NONE -> request.promptTokens() < blockSize();
      case LMCACHE, P2P_NCCL, MOONCAKE, MORIIO_READ, MORIIO_WRITE, SGLANG -> false;
    };
  }

  /** Holds the memory of a run under the keys of its request. */
  ReservedBlocks hold(
      List<String> keys, int rank, int tokens, String hash, long leaseNanos, Runnable free) {
    return reservedBlocks.hold(self, keys, rank, tokens, hash, leaseNanos, free);
  }

  /** The placeholder for responses that describe no blocks. */
  ReservedBlocks nothingReserved() {
    return new ReservedBlocks(
        List.of(""), self.engineId(0), 0, options.tpSize(), SimJson.array(), 0, 0, "", 0, () -> {});
  }

  /** Adds blocks to the common store. */
  void share(long[] hashes) {
    SideChannel peer = storePeer();
    if (peer == null) {
      store.add(BlockStore.document(hashes).path("hashes"));
    } else {
      peers.report(peer, "/kv/store", BlockStore.document(hashes));
    }
  }

  /** The address of the common store; null: here. */
  @Nullable SideChannel storePeer() {
    String address = options.store();
    int colon = address.lastIndexOf(':');
    return colon < 0
        ? null
        : new SideChannel(
            address.substring(0, colon),
            Integer.parseInt(address.substring(colon + 1)),
            "kv-store");
  }

  boolean owns(String engineId) {
    for (int rank = 0; rank < options.dpSize(); rank++) {
      if (self.engineId(rank).equals(engineId)) {
        return true;
      }
    }
    return false;
  }

  /** Tokens of the longest prefix in this engine's memory. */
  int known(long[] hashes) {
    return engine.scheduler().cache().known(hashes) * blockSize();
  }

  int blockSize() {
    return engine.scheduler().limits().blockSize();
  }

  long now() {
    return driver().now();
  }

  EngineDriver driver() {
    return engine.driver();
  }

  KvOptions options() {
    return options;
  }

  KvProtocol protocol() {
    return protocol;
  }

  KvLedger ledger() {
    return ledger;
  }

  KvCounters counters() {
    return counters;
  }

  PeerClient peers() {
    return peers;
  }

  BlockStore store() {
    return store;
  }

  PushedKv arrivals() {
    return arrivals;
  }

  Notifier notifier() {
    return notifier;
  }
}
