package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.DefectLog;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.FreePorts;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvState;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Strict prefill and decode engines with one protocol, and the router, in this process. Closing it
 * checks invariants: no lease is open, no block is reserved or leaked, no field was wrong, and no
 * defect was logged.
 */
public final class SplitCluster implements AutoCloseable {
  public final List<SimEngine> prefills = new ArrayList<>();
  public final List<SimEngine> decodes = new ArrayList<>();
  private final EventLoopGroup loops = SimEngine.newGroup(2);

  /** The address where engines register and notify; empty if they do not. */
  private final String peerAddress;

  private final RunningRouter router;
  private final DefectLog defects;
  private final int ranks;
  private boolean leaksExpected;
  private boolean wrongFieldsExpected;

  private SplitCluster(Setup setup) throws IOException {
    ranks = setup.ranks;
    peerAddress = setup.peerAddress() ? "127.0.0.1:" + FreePorts.next() : "";
    for (int i = 0; i < setup.prefillCount; i++) {
      prefills.add(start(setup, KvRole.PREFILL, "p" + i));
    }
    for (int i = 0; i < setup.decodeCount; i++) {
      decodes.add(start(setup, KvRole.DECODE, "d" + i));
    }
    router = RunningRouter.start(yaml(setup));
    defects = DefectLog.attach();
    awaitWell();
  }

  /** Waits until requests can be placed on every engine. */
  void awaitWell() {
    int count = ranks * (prefills.size() + decodes.size());
    WaitFor.until(
        () -> "all workers healthy: " + router.workers(),
        WaitFor.LONG,
        () ->
            router.workers().size() == count
                && router.allHealthy()
                && router.serving(Role.PREFILL, "sim") == ranks * prefills.size()
                && router.serving(Role.DECODE, "sim") == ranks * decodes.size());
  }

  private SimEngine start(Setup setup, KvRole role, String id) {
    KvOptions options =
        KvOptions.of(role, setup.connector).withLogged(1000).withDirect(setup.direct);
    if (setup.connector == KvConnector.NONE && !prefills.isEmpty()) {
      options = options.withStore("127.0.0.1:" + prefills.getFirst().kvState().port());
    }
    if (!peerAddress.isEmpty()) {
      options = options.withRouter(peerAddress, 0.5);
    }
    SimConfig config = setup.engine.withModels("sim").withScaleOut(true).withId(id);
    return SimEngine.start(config.withKv(setup.options.apply(options)), loops);
  }

  public static Setup of(String protocol, KvConnector connector) {
    return new Setup(protocol, connector);
  }

  /** Engines that send the router all data of their protocol. */
  public static Setup telling(KvConnector connector) {
    String protocol =
        switch (connector) {
          case NIXL, NIXL_PUSH -> "nixl";
          case LMCACHE -> "lmcache";
          case P2P_NCCL -> "p2p_nccl";
          case MOONCAKE -> "mooncake";
          case MORIIO_READ, MORIIO_WRITE -> "moriio";
          case SGLANG -> "sglang";
          case ORCHESTRATED -> "orchestrated";
          case NONE -> "transparent";
        };
    Setup setup = new Setup(protocol, connector);
    setup.telling = true;
    return setup;
  }

  /** Builder of a cluster. */
  public static final class Setup {
    private final KvConnector connector;
    private final Map<String, String> settings = new TreeMap<>();
    private final Map<String, String> others = new TreeMap<>();
    private SimConfig engine = SimConfig.instant();
    private UnaryOperator<KvOptions> options = same -> same;
    private int prefillCount = 1;
    private int decodeCount = 1;
    private int ranks = 1;
    private boolean direct;
    private boolean telling;
    private String decodeLimit = "";

    private Setup(String protocol, KvConnector connector) {
      this.connector = connector;
      // Otherwise a repeated prompt goes only to the decode worker that has it cached.
      set("protocol", protocol).set("cached-share", 2);
    }

    Setup engines(int prefill, int decode) {
      prefillCount = prefill;
      decodeCount = decode;
      return this;
    }

    Setup engine(UnaryOperator<SimConfig> change) {
      engine = change.apply(engine);
      return this;
    }

    public Setup options(UnaryOperator<KvOptions> change) {
      options = change;
      return this;
    }

    /** Gives each engine data-parallel ranks; each rank is a worker. */
    public Setup ranks(int count) {
      ranks = count;
      return options(o -> o.withRanks(1, count));
    }

    /** Makes engines serve whole requests without a hand-over. */
    Setup direct() {
      direct = true;
      return this;
    }

    /** Sets a key below {@code disaggregation}. */
    public Setup set(String key, Object value) {
      settings.put(key, value.toString());
      return this;
    }

    /** Resets a key below {@code disaggregation} to its default. */
    Setup usual(String key) {
      settings.remove(key);
      return this;
    }

    /** Sets a key of the configuration. */
    public Setup top(String key, Object value) {
      others.put(key, value.toString());
      return this;
    }

    Setup decodeLimit(int most) {
      decodeLimit = ", max-in-flight: " + most;
      return this;
    }

    /** P2P NCCL engines are found by their configuration. */
    private boolean peerAddress() {
      return telling
          && switch (connector) {
            case LMCACHE, MORIIO_READ, MORIIO_WRITE -> true;
            case NIXL, NIXL_PUSH, P2P_NCCL, MOONCAKE, SGLANG, ORCHESTRATED, NONE -> false;
          };
    }

    public SplitCluster start() throws IOException {
      return new SplitCluster(this);
    }
  }

  private String yaml(Setup setup) {
    StringBuilder text = new StringBuilder("workers:\n");
    if (setup.peerAddress()) {
      boolean blocks = setup.connector == KvConnector.LMCACHE;
      setup.set(blocks ? "notification-address" : "registration-address", '"' + peerAddress + '"');
    }
    for (int i = 0; i < setup.ranks; i++) {
      String rank = setup.ranks == 1 ? "" : ", rank: " + i;
      prefills.forEach(each -> text.append(worker(each, "prefill", address(setup, each) + rank)));
      decodes.forEach(
          each ->
              text.append(worker(each, "decode", address(setup, each) + setup.decodeLimit + rank)));
    }
    text.append("listen: {port: 0}\nmetrics: {port: 0}\nlog: {level: warn}\n");
    setup.others.forEach((key, value) -> text.append(key).append(": ").append(value).append('\n'));
    text.append("disaggregation:\n");
    setup.settings.forEach(
        (key, value) -> text.append("  ").append(key).append(": ").append(value).append('\n'));
    return text.toString();
  }

  private static String worker(SimEngine engine, String role, String more) {
    int side = engine.kvState().port();
    return "  - {url: \"%s\", role: %s, bootstrap-port: %d%s%s}\n"
        .formatted(engine.url(), role, side, receiver(engine), more);
  }

  /** The engine's address for other engines, unless it registers the address itself. */
  private static String address(Setup setup, SimEngine engine) {
    boolean registers = setup.peerAddress() && setup.connector.registers();
    return registers ? "" : ", kv-address: \"127.0.0.1:%d\"".formatted(engine.kvState().port());
  }

  /** The receiver of an LMCache decode engine. */
  private static String receiver(SimEngine engine) {
    KvState state = engine.kvState();
    return state.initPorts().isEmpty()
        ? ""
        : ", receiver: \"127.0.0.1/%s/%s\""
            .formatted(commas(state.initPorts()), commas(state.allocPorts()));
  }

  private static String commas(List<Integer> ports) {
    return String.join(",", ports.stream().map(port -> port.toString()).toList());
  }

  int port() {
    return router.port();
  }

  public RunningRouter router() {
    return router;
  }

  public HttpAnswer post(String path, String body, String... headerLines) throws IOException {
    try (RawClient client = RawClient.connect(port())) {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      return client.send("POST", path, bytes, List.of(headerLines)).read();
    }
  }

  /**
   * Sends requests until the given number in a row is split, because data about engines may arrive
   * later. The engines' earlier counts are reset.
   */
  public void awaitSplit(int requests) {
    int[] inRow = {0};
    WaitFor.until(
        () -> "requests that are split: " + state(),
        WaitFor.LONG,
        () -> {
          inRow[0] = splits() ? inRow[0] + 1 : 0;
          return inRow[0] == requests;
        });
    awaitQuiet();
    engines().forEach(SimEngine::resetCounters);
  }

  /**
   * Sends new requests until one is served for another reason than missing prefill, because engines
   * register after their start.
   */
  void awaitServed() {
    int[] asked = {0};
    WaitFor.until(
        () -> "a request that is served: " + state(), WaitFor.LONG, () -> serves(++asked[0]));
    awaitQuiet();
  }

  private boolean serves(int question) {
    try {
      String body = SplitFaults.BODY.replace("one two", "question " + question);
      HttpAnswer answer = post(SplitFaults.PATH, body);
      return answer.status() == 200 && !"no_prefill".equals(answer.header("x-pointsman-split"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private boolean splits() {
    try {
      HttpAnswer answer = post(SplitFaults.PATH, SplitFaults.BODY);
      return answer.status() == 200 && "split".equals(answer.header("x-pointsman-split"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** The router's worker for an engine. */
  Worker worker(SimEngine engine) {
    for (Worker worker : router.workers()) {
      if (worker.spec().url().equals(engine.url())) {
        return worker;
      }
    }
    throw new AssertionError("no worker at " + engine.url());
  }

  /** Requests of an engine on generating routes, oldest first. */
  static List<Logged> requests(SimEngine engine) {
    return engine.requestLog();
  }

  static String body(Logged logged) {
    return new String(logged.body(), StandardCharsets.UTF_8);
  }

  double metric(String name, String label) {
    return router.metric(name, label);
  }

  /** Permits blocks that are left to their lease. */
  void expectLeaks() {
    leaksExpected = true;
  }

  /** Permits requests that engines refuse for wrong fields. */
  void expectWrongFields() {
    wrongFieldsExpected = true;
  }

  /** Prefills with blocks that no engine fetched before the lease ended. */
  long leaked() {
    return engines().mapToLong(engine -> engine.kvState().reserved().leaked()).sum();
  }

  private Stream<SimEngine> engines() {
    return Stream.concat(prefills.stream(), decodes.stream());
  }

  /** Waits until nothing is in flight and no block is reserved. */
  void awaitQuiet() {
    WaitFor.until(
        () -> "nothing in flight: " + state(),
        WaitFor.LONG,
        () ->
            router.running() == 0
                && router.workers().stream().allMatch(w -> w.inFlight() == 0 && w.reserved() == 0)
                && engines().allMatch(SplitCluster::idle));
  }

  private static boolean idle(SimEngine engine) {
    KvState state = engine.kvState();
    return engine.state().requests().inFlight() == 0
        && engine.state().sequences().running() == 0
        && engine.state().sequences().waiting() == 0
        && state.reserved().requests() == 0
        && state.transfers().inProgress() == 0
        && state.transfers().waiting() == 0;
  }

  String state() {
    StringBuilder text = new StringBuilder("router runs " + router.running());
    router.workers().forEach(w -> text.append(", ").append(w).append(": ").append(w.inFlight()));
    engines().forEach(e -> text.append('\n').append(e.id()).append(": ").append(e.kvState()));
    return text.toString();
  }

  @Override
  public void close() {
    try {
      awaitQuiet();
      engines()
          .forEach(
              engine -> {
                KvState state = engine.kvState();
                if (!leaksExpected) {
                  assertThat(state.reserved().leaked()).as(state.toString()).isZero();
                }
                if (!wrongFieldsExpected) {
                  assertThat(state.fieldErrorsInAll()).as(state.toString()).isZero();
                }
              });
    } finally {
      router.close();
      engines().forEach(SimEngine::close);
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
      defects.close();
    }
    defects.verify();
  }
}
