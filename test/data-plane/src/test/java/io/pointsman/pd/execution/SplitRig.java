package io.pointsman.pd.execution;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.execution.waiting.NotificationTable;
import io.pointsman.pd.execution.waiting.SlotQueues;
import io.pointsman.pd.peer.BlockReceiver;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.pd.protocol.PdSetup;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.Protocols;
import io.pointsman.pd.rule.DecodeCaches;
import io.pointsman.pd.rule.SplitRouter;
import io.pointsman.pd.rule.SplitRule;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.request.AffinitySettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** A {@link ProxyRig} in front of scripted prefill and decode engines. Its clock stands still. */
@SuppressWarnings("try") // closing may be interrupted, as tests may
final class SplitRig implements AutoCloseable {
  static final String PATH = "/v1/completions";

  final FakeClock clock = new FakeClock();
  final ProxyRig proxy;

  /** Calls of the listener, as words. */
  final List<String> recorded = new CopyOnWriteArrayList<>();

  /** Runs in each call of the listener; may throw. */
  volatile Runnable inListener = () -> {};

  final NotificationTable notifications = new NotificationTable();

  private final Map<ScriptedEngine, Worker> started = new LinkedHashMap<>();

  SplitRig(String protocol) throws IOException {
    this(protocol, ProxySettings.DEFAULTS);
  }

  SplitRig(String protocol, ProxySettings settings) throws IOException {
    this(named(protocol), settings);
  }

  SplitRig(PdSetup protocol, ProxySettings settings) throws IOException {
    this(protocol, settings, new SplitSettings(0, 0, 2, 8, 0, true, false, false));
  }

  SplitRig(PdSetup protocol, ProxySettings settings, SplitSettings split) throws IOException {
    proxy = new ProxyRig(settings, clock, engine -> handlersOf(engine, protocol, split));
  }

  /** A protocol with engines that report nothing about themselves. */
  static PdSetup named(String protocol) {
    Peer peer =
        Peer.UNKNOWN
            .withReceiver(new BlockReceiver("h", List.of(1), List.of(2)))
            .withEngineIds(List.of("engine"));
    return Protocols.create(protocol, _ -> peer, ProtocolSettings.DEFAULTS, () -> 0);
  }

  private RequestHandlerFactory handlersOf(
      RoutingEngine engine, PdSetup protocol, SplitSettings split) {
    PdContext plane =
        new PdContext(
            engine,
            new SplitRouter(engine, new DecodeCaches(1 << 20, 16), split, clock::nanos),
            split,
            protocol,
            StageSettings.DEFAULTS,
            notifications,
            new RecordedSplits(),
            new SlotQueues(10),
            new Conversations(AffinitySettings.DEFAULT),
            () -> true,
            ScriptedRandomSource.seeded(3)::roll,
            role -> role == Role.PREFILL ? "model=pre" : "");
    return state -> new PdHandlers(state, plane);
  }

  /** Starts a prefill engine. The rig closes it. */
  ScriptedEngine prefill(EngineScript script) throws IOException {
    return start(script, Role.PREFILL);
  }

  /** Starts a decode engine. The rig closes it. */
  ScriptedEngine decode(EngineScript script) throws IOException {
    return start(script, Role.DECODE);
  }

  /** Starts an engine for complete requests. The rig closes it. */
  ScriptedEngine regular(EngineScript script) throws IOException {
    return start(script, Role.REGULAR);
  }

  private ScriptedEngine start(EngineScript script, Role role) throws IOException {
    ScriptedEngine engine = ScriptedEngine.start(script);
    started.put(engine, worker(engine.url(), role));
    return engine;
  }

  /** The worker of an engine that this rig started. */
  Worker worker(ScriptedEngine engine) {
    return requireNonNull(started.get(engine));
  }

  Worker worker(String url, Role role) {
    return proxy.worker(WorkerSpec.of(url).withModels(Set.of("m")).withRole(role));
  }

  static String request() {
    return request("");
  }

  /**
   * @param more further members of the body, each with a comma before it
   */
  static String request(String more) {
    return ProxyRig.post(
        PATH, "{\"model\":\"m\",\"prompt\":\"hello\",\"max_tokens\":5" + more + "}");
  }

  /** The first request gets the head of a stream without events; others get a stream. */
  static EngineScript silentOnce() {
    AtomicBoolean asked = new AtomicBoolean();
    return (request, connection) -> {
      if (asked.getAndSet(true)) {
        new EventStream(List.of("{\"a\":1}")).answer(request, connection);
      } else {
        connection.beginEvents();
        new HangBeforeHeaders().answer(request, connection);
      }
    };
  }

  /** Waits for the releases that follow an answer. They need their engines. */
  void awaitReleases() {
    ProxyRig.await("no body kept", () -> proxy.server().bodies().taken() == 0);
  }

  @Override
  public void close() throws Exception {
    for (ScriptedEngine engine : started.keySet()) {
      engine.close();
    }
    proxy.close();
  }

  private final class RecordedSplits implements SplitListener {
    private void record(Object what) {
      recorded.add(what.toString());
      inListener.run();
    }

    @Override
    public void decided(SplitRule rule, @Nullable Unsplittable why) {
      record(rule);
    }

    @Override
    public void stage(Stage stage, long nanos) {
      record(stage);
    }

    @Override
    public void prefill(PrefillEnd end) {
      record("PREFILL_" + end);
    }

    @Override
    public void handover(HandoverEnd end) {
      record("HANDOVER_" + end);
    }
  }
}
