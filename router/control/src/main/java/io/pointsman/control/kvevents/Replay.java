package io.pointsman.control.kvevents;

import io.pointsman.config.settings.ZmqAddress;
import io.pointsman.control.zmtp.ZmtpClient;
import io.pointsman.control.zmtp.ZmtpConnection.Message;
import io.pointsman.engine.env.Ticker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;

/**
 * Requests a replay from a publisher's ROUTER socket. The request is an empty frame and the first
 * number in eight bytes. The publisher sends the batches that it still has, then one with the
 * number -1. Time and number of batches are limited.
 */
final class Replay {
  /** Maximum number of batches; publishers keep fewer. */
  private static final int MOST_BATCHES = 200_000;

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

  /**
   * Requests batches and passes them to a sink.
   *
   * @param client an unconnected client, which the caller closes
   * @param from number of the first batch
   * @throws IOException if the response does not reach its end
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
