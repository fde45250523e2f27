package io.pointsman.tool.sim;

import io.netty.channel.EventLoop;
import io.pointsman.tool.sim.cache.BlockCache;
import io.pointsman.tool.sim.cache.CacheListener;
import io.pointsman.tool.sim.cache.Offload;
import io.pointsman.tool.sim.cache.OffloadListener;
import io.pointsman.tool.sim.cache.PromptOrigin;
import io.pointsman.tool.sim.live.CacheAnnouncer;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.zmq.CacheChange;
import io.pointsman.tool.sim.zmq.EventFaults;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import io.pointsman.tool.sim.zmq.EventPublisher;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Publishes an engine's prefix cache changes as KV events. The changes of one turn of the event
 * loop form one batch. Owned by the event loop, except for opening and closing.
 */
final class EventSide implements CacheAnnouncer, CacheListener, OffloadListener, AutoCloseable {
  private final EventOptions options;
  private final String host;
  private final EngineCore engine;
  private final EventLoop loop;
  private final InstantSource clock = InstantSource.system();
  private List<CacheChange> changes = new ArrayList<>();
  private boolean scheduled;
  private EventFaults faults;
  private int port;
  private int replayPort;
  private volatile @Nullable EventPublisher publisher;

  EventSide(EventOptions options, String host, EngineCore engine, EventLoop loop) {
    this.options = options;
    this.host = host;
    this.engine = engine;
    this.loop = loop;
    faults = options.faults();
    port = options.port();
    replayPort = options.replayPort();
  }

  /** Opens the sockets, at the same ports each time, and restarts the batch numbers at 0. */
  void open() {
    if (publisher != null) {
      return;
    }
    EventOptions again =
        new EventOptions(
            options.format(),
            port,
            replayPort,
            options.rank(),
            options.topic(),
            options.buffered(),
            faults,
            options.offload(),
            options.connect());
    int blockSize = engine.scheduler().limits().blockSize();
    EventPublisher opened = new EventPublisher(again, host, blockSize, engine.profile().seed());
    port = opened.port();
    replayPort = opened.replayPort();
    publisher = opened;
    loop.submit(this::listen).syncUninterruptibly();
  }

  private void listen() {
    BlockCache cache = engine.scheduler().cache();
    cache.listen(this);
    EventOptions.Offloading further = options.offload();
    if (further != null) {
      cache.offloadTo(new Offload(further.blocks(), this));
    }
  }

  /** Returns the open publisher. */
  EventPublisher publisher() {
    EventPublisher open = publisher;
    if (open == null) {
      throw new IllegalStateException("kv-events: closed (expected: a running engine)");
    }
    return open;
  }

  @Override
  public void stored(PromptOrigin origin, long[] hashes, int from, int to) {
    add(new CacheChange.Stored(origin, hashes, from, to));
  }

  @Override
  public void removed(long hash) {
    add(new CacheChange.Removed(hash));
  }

  @Override
  public void offloaded(PromptOrigin origin, long[] hashes, int block) {
    add(new CacheChange.Offloaded(origin, hashes, block));
  }

  @Override
  public void dropped(long hash) {
    add(new CacheChange.Dropped(hash));
  }

  /** vLLM publishes a reset with the next step of the engine; an idle engine publishes none. */
  @Override
  public void cleared() {
    changes.add(new CacheChange.Cleared());
    engine.driver().afterStep(this::publish);
  }

  private void add(CacheChange change) {
    changes.add(change);
    if (!scheduled) {
      scheduled = true;
      loop.execute(this::publish);
    }
  }

  private void publish() {
    scheduled = false;
    List<CacheChange> batch = changes;
    changes = new ArrayList<>();
    EventPublisher open = publisher;
    if (open != null && !batch.isEmpty()) {
      Instant now = clock.instant();
      open.publish(now.getEpochSecond() + now.getNano() / 1e9, batch);
    }
  }

  @Override
  public Place place() {
    String replay = replayPort < 0 ? null : "tcp://*:" + replayPort;
    return new Place(
        options.rank(),
        options.connect().isEmpty() ? "tcp://*:" + port : "tcp://" + options.connect(),
        replay,
        options.topic(),
        options.buffered(),
        options.format() == EventFormat.SGLANG);
  }

  @Override
  public long batches() {
    EventPublisher open = publisher;
    return open == null ? 0 : open.batches();
  }

  @Override
  public void faults(double loss, long delayMillis, double reorder, int replayed) {
    faults = new EventFaults(loss, delayMillis, reorder, replayed);
    EventPublisher open = publisher;
    if (open != null) {
      open.faults(faults);
    }
  }

  @Override
  public void restart() {
    BlockCache cache = engine.scheduler().cache();
    cache.listen(CacheListener.NONE);
    cache.forgetIdle();
    cache.listen(this);
    changes = new ArrayList<>();
    EventPublisher open = publisher;
    if (open != null) {
      open.restart();
    }
  }

  /** Closes the connections like an engine that dies; no further events are published. */
  @Override
  public void close() {
    EventPublisher open = publisher;
    publisher = null;
    if (open != null) {
      open.close();
    }
  }
}
