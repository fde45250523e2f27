package io.pointsman.pd.execution;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.execution.waiting.NotificationTable;
import io.pointsman.pd.execution.waiting.WaitingRoom;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.Receiver;
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
import java.util.List;
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
  final List<String> heard = new CopyOnWriteArrayList<>();

  /** Runs in each call of the listener; may throw. */
  volatile Runnable inListener = () -> {};

  final NotificationTable notifications = new NotificationTable();

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
    proxy = new ProxyRig(settings, clock, engine -> courses(engine, protocol, split));
  }

  /** A protocol with engines that report nothing about themselves. */
  static PdSetup named(String protocol) {
    Peer peer =
        Peer.UNKNOWN
            .withReceiver(new Receiver("h", List.of(1), List.of(2)))
            .withEngineIds(List.of("engine"));
    return Protocols.create(protocol, _ -> peer, ProtocolSettings.DEFAULTS, () -> 0);
  }

  private RequestHandlerFactory courses(
      RoutingEngine engine, PdSetup protocol, SplitSettings split) {
    PdContext plane =
        new PdContext(
            engine,
            new SplitRouter(engine, new DecodeCaches(1 << 20, 16), split, clock::nanos),
            split,
            protocol,
            StageSettings.DEFAULTS,
            notifications,
            new Told(),
            new WaitingRoom(10),
            new Conversations(AffinitySettings.DEFAULT),
            () -> true,
            ScriptedRandomSource.seeded(3)::roll,
            role -> role == Role.PREFILL ? "model=pre" : "");
    return state -> new PdHandlers(state, plane);
  }

  Worker prefill(ScriptedEngine engine) {
    return worker(engine.url(), Role.PREFILL);
  }

  Worker decode(ScriptedEngine engine) {
    return worker(engine.url(), Role.DECODE);
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
    proxy.close();
  }

  private final class Told implements SplitListener {
    private void tell(Object what) {
      heard.add(what.toString());
      inListener.run();
    }

    @Override
    public void decided(SplitRule rule, @Nullable Unsplittable why) {
      tell(rule);
    }

    @Override
    public void stage(Stage stage, long nanos) {
      tell(stage);
    }

    @Override
    public void prefill(PrefillEnd end) {
      tell("PREFILL_" + end);
    }

    @Override
    public void handover(HandoverEnd end) {
      tell("HANDOVER_" + end);
    }
  }
}
