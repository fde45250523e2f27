package io.pointsman.tool.sim.zmq;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Publishes KV events as engines do: a PUB socket with numbered batches, and a ROUTER socket that
 * repeats the last ones. Faults can be injected. Safe for use by any number of threads.
 */
public final class EventPublisher implements AutoCloseable {
  private static final byte[] NOTHING = {};
  private static final byte[] END = ByteBuffer.allocate(Long.BYTES).putLong(-1).array();

  private final EventOptions options;
  private final EventEncoder encoder;
  private final byte[] topic;
  private final BoundSocket publisher;
  private final @Nullable BoundSocket replays;
  private final ScheduledThreadPoolExecutor delays =
      new ScheduledThreadPoolExecutor(
          1,
          Thread.ofVirtual().name("sim-kv-events").factory(),
          new ThreadPoolExecutor.DiscardPolicy());

  /** Guarded by this, like the fields below. */
  private final Deque<PublishedBatch> ring = new ArrayDeque<>();

  private final SplittableRandom random;
  private EventFaults faults;
  private long nextSeq;
  private byte @Nullable [] delayed;

  @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
  private record PublishedBatch(byte[] seq, byte[] payload) {
    long number() {
      return ByteBuffer.wrap(seq).getLong();
    }
  }

  /**
   * Binds both sockets.
   *
   * @param blockSize tokens per block
   * @param seed of the faults
   * @throws java.io.UncheckedIOException if a port is not available
   */
  public EventPublisher(EventOptions options, String host, int blockSize, long seed) {
    this.options = options;
    encoder = new EventEncoder(options, blockSize);
    topic = options.topic().getBytes(UTF_8);
    faults = options.faults();
    random = new SplittableRandom(seed);
    publisher =
        options.connect().isEmpty()
            ? new BoundSocket("PUB", host, options.port(), BoundSocket::subscribe)
            : BoundSocket.connecting("PUB", remote(options.connect()), BoundSocket::subscribe);
    try {
      replays =
          options.replayPort() < 0
              ? null
              : new BoundSocket("ROUTER", host, options.replayPort(), this::repeat);
    } catch (RuntimeException e) {
      publisher.close();
      throw e;
    }
  }

  private static InetSocketAddress remote(String address) {
    int colon = address.lastIndexOf(':');
    int port = Integer.parseInt(address.substring(colon + 1));
    return InetSocketAddress.createUnresolved(address.substring(0, colon), port);
  }

  /** The port of the PUB socket; meaningless if it connects. */
  public int port() {
    return publisher.port();
  }

  /** The port of the ROUTER socket; -1 without one. */
  public int replayPort() {
    BoundSocket open = replays;
    return open == null ? -1 : open.port();
  }

  /** Number of subscribers. */
  public int subscribers() {
    return publisher.subscribers();
  }

  /** Number of batches so far. */
  public synchronized long batches() {
    return nextSeq;
  }

  /** Sets the faults from now on. */
  public synchronized void faults(EventFaults newFaults) {
    faults = newFaults;
  }

  /** Publishes one batch. */
  public void publish(double seconds, List<CacheChange> changes) {
    publish(encoder.encode(seconds, changes));
  }

  /** Publishes an encoded batch. */
  public synchronized void publish(byte[] payload) {
    byte[] seq = ByteBuffer.allocate(Long.BYTES).putLong(nextSeq++).array();
    ring.addLast(new PublishedBatch(seq, payload));
    if (ring.size() > options.buffered()) {
      ring.removeFirst();
    }
    byte[] message = SimZmtp.message(topic, seq, payload);
    if (random.nextDouble() < faults.loss()) {
      return;
    }
    if (delayed == null && random.nextDouble() < faults.reorder()) {
      delayed = message;
      return;
    }
    byte[] late = delayed;
    delayed = null;
    send(message);
    if (late != null) {
      send(late);
    }
  }

  private void send(byte[] message) {
    if (faults.delayMillis() == 0) {
      publisher.publish(topic, message);
    } else {
      delays.schedule(
          () -> publisher.publish(topic, message), faults.delayMillis(), TimeUnit.MILLISECONDS);
    }
  }

  /** Numbers batches from 0, as after a restart; subscribers must connect again. */
  public synchronized void restart() {
    countAnew();
    hangUp();
  }

  /**
   * Numbers batches from 0, as after a restart behind an intermediary that keeps the connections.
   */
  public synchronized void countAnew() {
    nextSeq = 0;
    ring.clear();
    delayed = null;
  }

  /** Ends all connections; new ones are accepted. */
  public void hangUp() {
    publisher.hangUp();
    BoundSocket open = replays;
    if (open != null) {
      open.hangUp();
    }
  }

  private void repeat(BoundSocket.PeerConnection peer, List<byte[]> frames)
      throws InterruptedException {
    if (frames.size() != 2 || frames.get(1).length != Long.BYTES) {
      return;
    }
    long from = ByteBuffer.wrap(frames.get(1)).getLong();
    List<byte[]> messages = new ArrayList<>();
    int sent;
    synchronized (this) {
      ring.stream()
          .filter(batch -> batch.number() >= from)
          .map(batch -> SimZmtp.message(NOTHING, batch.seq(), batch.payload()))
          .forEach(messages::add);
      sent = faults.replayed();
    }
    messages.add(SimZmtp.message(NOTHING, END, NOTHING));
    for (byte[] message :
        sent == 0 ? messages : messages.subList(0, Math.min(sent, messages.size()))) {
      peer.put(message);
    }
  }

  @Override
  public void close() {
    delays.shutdownNow();
    publisher.close();
    BoundSocket open = replays;
    if (open != null) {
      open.close();
    }
  }
}
