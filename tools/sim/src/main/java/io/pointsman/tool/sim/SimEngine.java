package io.pointsman.tool.sim;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.pointsman.tool.sim.api.EngineApi;
import io.pointsman.tool.sim.failure.FailureTable;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.http.HttpListener;
import io.pointsman.tool.sim.kv.KvState;
import io.pointsman.tool.sim.kv.RequestLog;
import io.pointsman.tool.sim.kv.link.KvNode;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.EngineDriver;
import io.pointsman.tool.sim.live.EngineState;
import io.pointsman.tool.sim.schedule.Scheduler;
import io.pointsman.tool.sim.zmq.EventPublisher;
import java.time.InstantSource;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A simulated engine with its listeners; all parts of one engine run on one event loop. Methods may
 * be called from any thread except that loop, and block until they have taken effect.
 *
 * <pre>{@code
 * try (SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"))) {
 *   call(engine.url() + "/v1/chat/completions");
 *   assertThat(engine.state().requests().served()).isEqualTo(1);
 * }
 * }</pre>
 */
public final class SimEngine implements AutoCloseable {
  /** Time between the death of an engine and the end of its server. */
  private static final long DEATH_MILLIS = 100;

  private final SimConfig config;
  private final EventLoop loop;
  private final @Nullable EventLoopGroup ownGroup;
  private final EngineCore engine;
  private final EngineApi api;
  private final HttpListener listener;
  private final HttpListener adminListener;
  private final @Nullable KvSide kvSide;
  private final @Nullable EventSide eventSide;
  private final CountDownLatch death = new CountDownLatch(1);
  private int port;
  private int adminPort = -1;

  private SimEngine(SimConfig config, EventLoopGroup group, @Nullable EventLoopGroup ownGroup) {
    this.config = config;
    this.loop = group.next();
    this.ownGroup = ownGroup;
    Scheduler scheduler = new Scheduler(config.limits(), config.latency());
    EngineDriver driver = new EngineDriver(scheduler, loop, System::nanoTime, config.speed());
    FailureTable failures =
        new FailureTable(new SplittableRandom(config.profile().seed()), this::refuseFor);
    this.engine =
        new EngineCore(config.profile(), scheduler, driver, failures, InstantSource.system());
    Class<? extends ServerChannel> type = channelType(group);
    this.kvSide =
        config.kv() == null ? null : new KvSide(config.kv(), config.host(), engine, loop, type);
    this.eventSide =
        config.events() == null
            ? null
            : new EventSide(config.events(), config.host(), engine, loop);
    if (eventSide != null) {
      engine.announceBy(eventSide);
    }
    KvNode node = kvSide == null ? null : kvSide.node();
    this.api = new EngineApi(engine, node, this::died);
    this.listener = new HttpListener(loop, type, config.connections(), api, engine::id);
    this.adminListener = new HttpListener(loop, type, config.connections(), api, engine::id);
  }

  /** Starts an engine with its own thread. */
  public static SimEngine start(SimConfig config) {
    EventLoopGroup own = newGroup(1);
    return begin(new SimEngine(config, own, own));
  }

  /**
   * Starts an engine on one event loop of a group that others may use too; the caller owns the
   * group.
   */
  public static SimEngine start(SimConfig config, EventLoopGroup shared) {
    return begin(new SimEngine(config, shared, null));
  }

  /**
   * Creates a group for {@link #start(SimConfig, EventLoopGroup)}: epoll if available, else NIO.
   */
  public static EventLoopGroup newGroup(int threads) {
    return new MultiThreadIoEventLoopGroup(
        threads,
        new DefaultThreadFactory("sim-engine", true),
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
  }

  /** The base URL, without a trailing slash. */
  public String url() {
    return "http://" + config.host() + ":" + port;
  }

  /** The port it listens on; unchanged by {@link #stop} and {@link #restart}. */
  public int port() {
    return port;
  }

  /** The admin port; -1 without one. */
  public int adminPort() {
    return adminPort;
  }

  /** The value of {@code x-engine-id}. */
  public String id() {
    return engine.id();
  }

  public SimConfig config() {
    return config;
  }

  /** The active failures. */
  public FailureTable failures() {
    return engine.failures();
  }

  /**
   * Serves the hanging requests ({@link io.pointsman.tool.sim.failure.Fault.Hang}), unless a newer
   * failure strikes them.
   */
  public void resumeHung() {
    onLoop(
        () -> {
          api.resumeHung();
          return true;
        });
  }

  /** The engine's actual state at this moment. */
  public EngineState state() {
    return onLoop(engine::state);
  }

  /**
   * The actual state of KV transfers at this moment.
   *
   * @throws IllegalStateException for an engine without a role
   */
  public KvState kvState() {
    KvNode node = node();
    return onLoop(node::state);
  }

  /**
   * The last requests byte by byte, at most {@link io.pointsman.tool.sim.kv.KvOptions#logged}.
   *
   * @throws IllegalStateException for an engine without a role
   */
  public List<RequestLog.Logged> requestLog() {
    KvNode node = node();
    return onLoop(() -> node.log().all());
  }

  private KvNode node() {
    if (kvSide == null) {
      throw new IllegalStateException("kv: no role (expected: SimConfig.withKv)");
    }
    return kvSide.node();
  }

  /**
   * The publisher of its KV events; a new one after a {@link #restart}.
   *
   * @throws IllegalStateException if events are off, or the engine is stopped
   */
  public EventPublisher events() {
    if (eventSide == null) {
      throw new IllegalStateException("kv-events: off (expected: SimConfig.withEvents)");
    }
    return eventSide.publisher();
  }

  /** Resets all counters to zero. */
  public void resetCounters() {
    onLoop(
        () -> {
          engine.resetCounters();
          if (kvSide != null) {
            kvSide.node().resetCounters();
          }
          return true;
        });
  }

  /** Closes the listener and idle connections; requests in flight continue. */
  public void refuse() {
    listener.closeListening().syncUninterruptibly();
  }

  /** Opens the listener again after {@link #refuse}. */
  public void accept() {
    open(port);
  }

  /**
   * Stops like a crash: the listener and all connections close at once, and the prefix cache is
   * lost. Counters stay readable.
   */
  public void stop() {
    listener.closeAll();
    adminListener.closeAll();
    if (kvSide != null) {
      kvSide.stop();
    }
    if (eventSide != null) {
      eventSide.close();
    }
    onLoop(() -> engine.scheduler().cache().forgetIdle());
  }

  /**
   * Shuts down like vLLM on SIGTERM. Requests in progress end with the finish reason {@code abort};
   * streams without a token stay open without a byte. Later requests get 500, while {@code /health}
   * is still 200. After {@code listenMillis} nobody listens. The prefix cache is lost.
   */
  public void terminate(long listenMillis) {
    onLoop(
        () -> {
          engine.shutDown();
          engine.scheduler().cache().forgetIdle();
          if (listenMillis == 0) {
            listener.closeListening();
          } else {
            loop.schedule(this::closeIfEnded, listenMillis, TimeUnit.MILLISECONDS);
          }
          return true;
        });
  }

  private void closeIfEnded() {
    if (engine.ended()) {
      listener.closeListening();
    }
  }

  /** Runs on the loop. Like vLLM's server, it notices the death a moment later. */
  private void died() {
    engine.scheduler().cache().forgetIdle();
    loop.schedule(this::closeIfEnded, DEATH_MILLIS, TimeUnit.MILLISECONDS);
    loop.schedule(death::countDown, 2 * DEATH_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** True if a request has ended it, and it was not restarted. */
  public boolean isDead() {
    return onLoop(engine::died);
  }

  /** How often requests have ended it. */
  public int deaths() {
    return onLoop(engine::deaths);
  }

  /** Number of generations that failed because requests ended it. */
  public int lostToDeath() {
    return onLoop(engine::lost);
  }

  /** Waits until a request has ended it, and its clients have their errors. */
  void awaitDeath() throws InterruptedException {
    death.await();
  }

  /** Waits until no client is connected. */
  void awaitNoClients() {
    listener.connectionsClosed().awaitUninterruptibly();
  }

  /** Restarts on the same port after {@link #stop}, {@link #terminate} or its death. */
  public void restart() {
    onLoop(
        () -> {
          engine.begin();
          return true;
        });
    open(port);
  }

  @Override
  public void close() {
    listener.closeAll();
    adminListener.closeAll();
    if (kvSide != null) {
      kvSide.close();
    }
    if (eventSide != null) {
      eventSide.close();
    }
    if (ownGroup != null) {
      ownGroup.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private static SimEngine begin(SimEngine engine) {
    try {
      engine.open(engine.config.port());
    } catch (RuntimeException e) {
      engine.close();
      throw e;
    }
    engine.config.failures().forEach(engine.engine.failures()::add);
    return engine;
  }

  private void open(int wanted) {
    if (wanted != 0) {
      name(wanted);
    }
    if (eventSide != null) {
      eventSide.open();
    }
    port = listener.open(config.host(), wanted).getPort();
    name(port);
    if (kvSide != null) {
      kvSide.open(port);
    }
    if (config.adminPort() >= 0 && !adminListener.isOpen()) {
      int again = adminPort >= 0 ? adminPort : config.adminPort();
      adminPort = adminListener.open(config.host(), again).getPort();
    }
  }

  private void name(int knownPort) {
    engine.name(config.id().isEmpty() ? config.host() + ":" + knownPort : config.id());
  }

  private void refuseFor(Fault.Refuse fault) {
    listener.closeListening();
    loop.schedule(listener::reopen, fault.forMillis(), TimeUnit.MILLISECONDS);
  }

  private <T> T onLoop(Callable<T> work) {
    return loop.submit(work).syncUninterruptibly().getNow();
  }

  private static Class<? extends ServerChannel> channelType(EventLoopGroup group) {
    boolean epoll = group instanceof IoEventLoopGroup typed && typed.isIoType(EpollIoHandler.class);
    return epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
  }
}
