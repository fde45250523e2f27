package io.pointsman.control.kvevents;

import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.zmtp.ZmtpClient;
import io.pointsman.engine.env.Ticker;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * Requests a replay from a publisher's ROUTER socket. The request is an empty frame and the first
 * number in eight bytes. The publisher sends the batches that it still has, then one with the
 * number -1. Time and number of batches are limited.
 *
 * <p>A ROUTER socket drops messages for a peer that reads slowly, by default after 1,000 messages
 * in its queue. So the batches are read first and used afterwards, and missing ones are noticed.
 * All replays share one budget of bytes for that. If it is used up, a replay uses its batches at
 * once; the messages that the publisher drops meanwhile are requested again.
 */
final class Replay {
  /** Maximum number of batches; publishers keep fewer. */
  private static final int MOST_BATCHES = 200_000;

  /** Maximum size of the batches that all replays together read in advance. */
  private static final long MOST_READ_AHEAD = 64L << 20;

  /** Their share of the heap: one part in so many. After a network failure all sources replay. */
  private static final int HEAP_PARTS = 16;

  /** Heap that a batch takes beyond its payload, in bytes. */
  private static final int BATCH_BYTES = 64;

  /** Silence within a replay that means that its end was dropped. */
  private static final Duration PAUSE = Duration.ofSeconds(1);

  private static final byte[] NOTHING = {};

  private final ZmqAddress endpoint;
  private final AddressRotation addresses;
  private final KvSource.Shared shared;
  private final Ticker ticker;
  private final Semaphore readAhead;

  /** Receives replayed batches. */
  @FunctionalInterface
  interface Sink {
    /**
     * @return false to stop
     */
    boolean take(long seq, byte[] payload);
  }

  /** Batches that are read and not used yet, in the order of their numbers. */
  private static final class ReadAhead implements AutoCloseable {
    private final ArrayDeque<byte[]> payloads = new ArrayDeque<>();
    private final Sink sink;
    private final Semaphore budget;
    private long first;
    private long next = -1;
    private int taken;
    private boolean stopped;

    ReadAhead(Sink sink, Semaphore budget) {
      this.sink = sink;
      this.budget = budget;
    }

    boolean any() {
      return next >= 0;
    }

    /** Returns false if batches before this one are missing. */
    boolean add(long seq, byte[] payload) {
      if (any() && seq != next) {
        return false;
      }
      next = seq + 1;
      if (!keeps(seq, payload)) {
        use();
        if (!keeps(seq, payload)) {
          take(seq, payload);
        }
      }
      return true;
    }

    private boolean keeps(long seq, byte[] payload) {
      int bytes = bytes(payload);
      if (!budget.tryAcquire(bytes)) {
        return false;
      }
      taken += bytes;
      first = payloads.isEmpty() ? seq : first;
      payloads.add(payload);
      return true;
    }

    void use() {
      for (byte[] payload = payloads.poll(); payload != null; payload = payloads.poll()) {
        take(first++, payload);
        giveBack(bytes(payload));
      }
    }

    private void take(long seq, byte[] payload) {
      stopped = stopped || !sink.take(seq, payload);
    }

    private void giveBack(int bytes) {
      taken -= bytes;
      budget.release(bytes);
    }

    private static int bytes(byte[] payload) {
      return payload.length + BATCH_BYTES;
    }

    /** Gives back the budget of batches that a failure left unused. */
    @Override
    public void close() {
      giveBack(taken);
    }
  }

  /**
   * @param shared the limits: the publisher may be silent for the patience, and the whole replay
   *     may take ten times as long
   */
  Replay(ZmqAddress endpoint, AddressRotation addresses, KvSource.Shared shared) {
    this.endpoint = endpoint;
    this.addresses = addresses;
    this.shared = shared;
    ticker = shared.ticker();
    readAhead = shared.readAhead();
  }

  /**
   * The budget, in bytes, of the batches that all replays together read in advance.
   *
   * @param heap maximum size of the heap in bytes
   */
  static Semaphore readAhead(long heap) {
    return new Semaphore((int) Math.min(MOST_READ_AHEAD, heap / HEAP_PARTS));
  }

  private Duration patience() {
    return shared.limits().replayPatience();
  }

  /** Time by the ticker at which a replay that begins now must have ended. */
  long deadline() {
    return ticker.nanos() + 10 * patience().toNanos();
  }

  /**
   * Requests batches and passes them to a sink, as far as none is missing between them.
   *
   * @param client an unconnected client, which the caller closes
   * @param from number of the first batch
   * @param deadline see {@link #deadline}
   * @return false if batches or the end were dropped on the way, after at least one batch: the rest
   *     must be requested again
   * @throws IOException if there is no answer or no time left
   */
  boolean ask(ZmtpClient client, long from, long deadline, Sink sink) throws IOException {
    addresses.connect(client);
    client.patience((int) patience().toMillis());
    client.send(List.of(NOTHING, ByteBuffer.allocate(Long.BYTES).putLong(from).array()));
    try (ReadAhead batches = new ReadAhead(sink, readAhead)) {
      boolean complete;
      try {
        complete = read(client, deadline, batches);
      } finally {
        batches.use();
      }
      return complete || batches.stopped;
    }
  }

  private boolean read(ZmtpClient client, long deadline, ReadAhead batches) throws IOException {
    for (int i = 0; i < MOST_BATCHES && ticker.nanos() - deadline < 0; i++) {
      List<byte[]> frames;
      try {
        frames = client.next().frames();
      } catch (SocketTimeoutException e) {
        if (batches.any()) {
          return false;
        }
        throw e;
      }
      if (frames.size() < 2 || frames.get(frames.size() - 2).length != Long.BYTES) {
        throw new IOException(endpoint + ": not a batch (expected: a number and a payload)");
      }
      long seq = ByteBuffer.wrap(frames.get(frames.size() - 2)).getLong();
      if (seq < 0 || batches.stopped) {
        return true;
      }
      if (!batches.any()) {
        client.patience((int) Math.min(patience().toMillis(), PAUSE.toMillis()));
      }
      if (!batches.add(seq, frames.getLast())) {
        return false;
      }
    }
    throw new IOException(endpoint + ": the replay does not end");
  }

  ZmtpClient client() {
    return new ZmtpClient(ZmtpClient.Kind.DEALER, shared.limits().messageBytes());
  }
}
