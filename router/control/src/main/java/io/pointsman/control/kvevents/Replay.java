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

/**
 * Requests a replay from a publisher's ROUTER socket. The request is an empty frame and the first
 * number in eight bytes. The publisher sends the batches that it still has, then one with the
 * number -1. Time and number of batches are limited.
 *
 * <p>A ROUTER socket drops messages for a peer that reads slowly, by default after 1,000 messages
 * in its queue. So the batches are read first and used afterwards, and missing ones are noticed.
 */
final class Replay {
  /** Maximum number of batches; publishers keep fewer. */
  private static final int MOST_BATCHES = 200_000;

  /** Maximum size of the batches that are read in advance. */
  private static final long MOST_READ_AHEAD = 64L << 20;

  /** Silence within a replay that means that its end was dropped. */
  private static final Duration PAUSE = Duration.ofSeconds(1);

  private static final byte[] NOTHING = {};

  private final ZmqAddress endpoint;
  private final AddressRotation addresses;
  private final int mostBytes;
  private final Duration patience;
  private final Ticker ticker;

  /** Receives replayed batches. */
  @FunctionalInterface
  interface Sink {
    /**
     * @return false to stop
     */
    boolean take(long seq, byte[] payload);
  }

  /** Batches that are read and not used yet, in the order of their numbers. */
  private static final class ReadAhead {
    private final ArrayDeque<byte[]> payloads = new ArrayDeque<>();
    private final Sink sink;
    private long first;
    private long next = -1;
    private long bytes;
    private boolean stopped;

    ReadAhead(Sink sink) {
      this.sink = sink;
    }

    boolean any() {
      return next >= 0;
    }

    /** Returns false if batches before this one are missing. */
    boolean add(long seq, byte[] payload) {
      if (any() && seq != next) {
        return false;
      }
      first = payloads.isEmpty() ? seq : first;
      next = seq + 1;
      payloads.add(payload);
      bytes += payload.length;
      if (bytes > MOST_READ_AHEAD) {
        use();
      }
      return true;
    }

    void use() {
      for (byte[] payload = payloads.poll(); payload != null; payload = payloads.poll()) {
        stopped = stopped || !sink.take(first++, payload);
      }
      bytes = 0;
    }
  }

  /**
   * @param patience maximum silence of the publisher; the whole replay may take ten times as long
   */
  Replay(
      ZmqAddress endpoint,
      AddressRotation addresses,
      int mostBytes,
      Duration patience,
      Ticker ticker) {
    this.endpoint = endpoint;
    this.addresses = addresses;
    this.mostBytes = mostBytes;
    this.patience = patience;
    this.ticker = ticker;
  }

  /** Time by the ticker at which a replay that begins now must have ended. */
  long deadline() {
    return ticker.nanos() + 10 * patience.toNanos();
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
    client.patience((int) patience.toMillis());
    client.send(List.of(NOTHING, ByteBuffer.allocate(Long.BYTES).putLong(from).array()));
    ReadAhead batches = new ReadAhead(sink);
    boolean complete;
    try {
      complete = read(client, deadline, batches);
    } finally {
      batches.use();
    }
    return complete || batches.stopped;
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
        client.patience((int) Math.min(patience.toMillis(), PAUSE.toMillis()));
      }
      if (!batches.add(seq, frames.getLast())) {
        return false;
      }
    }
    throw new IOException(endpoint + ": the replay does not end");
  }

  ZmtpClient client() {
    return new ZmtpClient(ZmtpClient.Kind.DEALER, mostBytes);
  }
}
