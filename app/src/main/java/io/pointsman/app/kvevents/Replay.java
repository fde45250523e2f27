package io.pointsman.app.kvevents;

import io.pointsman.app.kvevents.wire.Endpoint;
import io.pointsman.app.kvevents.wire.ZmtpClient;
import io.pointsman.app.kvevents.wire.ZmtpClient.Message;
import io.pointsman.engine.env.Ticker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;

/**
 * Asks a publisher to repeat its batches from a number on: an empty frame and the number in eight
 * bytes go to its ROUTER socket; the batches that it still has come back, then one with the number
 * -1. Bounded in time and in batches.
 */
final class Replay {
  /** More than publishers keep. */
  private static final int MOST_BATCHES = 200_000;

  private static final byte[] NOTHING = {};

  private final Endpoint endpoint;
  private final Addresses addresses;
  private final int mostBytes;
  private final Duration patience;
  private final Ticker ticker;

  /** Takes what is repeated. */
  @FunctionalInterface
  interface Sink {
    /**
     * @return whether to go on
     */
    boolean take(long seq, byte[] payload);
  }

  /**
   * @param patience how long the publisher may be silent, and a tenth of how long all may take
   */
  Replay(Endpoint endpoint, Addresses addresses, int mostBytes, Duration patience, Ticker ticker) {
    this.endpoint = endpoint;
    this.addresses = addresses;
    this.mostBytes = mostBytes;
    this.patience = patience;
    this.ticker = ticker;
  }

  /**
   * Has batches repeated.
   *
   * @param client not connected yet; stays the caller's to close
   * @param from number of the first one wanted
   * @throws IOException if the answer does not come to its end
   */
  void ask(ZmtpClient client, long from, Sink sink) throws IOException {
    long deadline = ticker.nanos() + 10 * patience.toNanos();
    addresses.connect(client);
    client.patience((int) patience.toMillis());
    client.send(List.of(NOTHING, ByteBuffer.allocate(Long.BYTES).putLong(from).array()));
    for (int i = 0; i < MOST_BATCHES && ticker.nanos() - deadline < 0; i++) {
      Message message = client.next();
      List<byte[]> frames = message.frames();
      if (frames.size() < 2 || frames.get(frames.size() - 2).length != Long.BYTES) {
        throw new IOException(endpoint + ": not a batch (expected: a number and a payload)");
      }
      long seq = ByteBuffer.wrap(frames.get(frames.size() - 2)).getLong();
      if (seq < 0 || !sink.take(seq, frames.getLast())) {
        return;
      }
    }
    throw new IOException(endpoint + ": the replay does not end");
  }

  ZmtpClient client() {
    return new ZmtpClient(ZmtpClient.Kind.DEALER, mostBytes);
  }
}
