package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.upstream.UpstreamConnection;
import org.jspecify.annotations.Nullable;

/**
 * The way of the client's bytes to the worker: the rest of a body that is too large to buffer, and
 * the bytes of a WebSocket. It pauses the client while the worker does not read. Belongs to the
 * client's event loop.
 */
final class Upload {
  private final ClientConnection client;
  private final LoopState state;
  private final RequestBody body;
  private final UploadRate rate = new UploadRate();
  private long lastReadAt;

  /** True after a switch to the WebSocket protocol. */
  private boolean tunnel;

  /** Bytes of the client after the switch. */
  private long tunnelled;

  private boolean clientEnded;

  Upload(ClientConnection client, LoopState state, RequestBody body) {
    this.client = client;
    this.state = state;
    this.body = body;
    lastReadAt = state.now();
  }

  /** Records that bytes of the client arrived. */
  void arrived() {
    lastReadAt = state.now();
  }

  /** Time at which a part of the request was last read or could be forwarded. */
  long lastReadAt() {
    return lastReadAt;
  }

  /** Number of received bytes, with those after a switch of the protocol. */
  long received() {
    return body.total() + tunnelled;
  }

  /** Streams the rest of the body to a worker that got its beginning. */
  void begin(UpstreamConnection to) {
    body.beginStreaming();
    lastReadAt = state.now();
    client.setReading(to.writable());
  }

  /** The connection that receives a body too large to buffer; null if there is none. */
  @Nullable UpstreamConnection streamingTo(@Nullable Attempt attempt) {
    return body.replayable() || attempt == null ? null : attempt.connection();
  }

  /** True after a switch to the WebSocket protocol. */
  boolean tunnels() {
    return tunnel;
  }

  /** Switches to the WebSocket protocol. The client's further bytes go to the worker. */
  void tunnel() {
    tunnel = true;
    client.tunnel();
  }

  /** Passes bytes of a WebSocket on. Their ownership passes to this method. */
  void passOn(@Nullable Attempt attempt, ByteBuf part) {
    UpstreamConnection worker = attempt == null ? null : attempt.connection();
    if (attempt == null || worker == null) {
      part.release();
    } else {
      tunnelled += part.readableBytes();
      worker.write(part);
      attempt.requestMoved();
    }
  }

  /** Flushes the bytes for the worker, and reads the client as far as the worker reads. */
  void pause(@Nullable Attempt attempt) {
    UpstreamConnection worker =
        !tunnel ? streamingTo(attempt) : attempt == null ? null : attempt.connection();
    if (worker != null) {
      worker.flush();
      client.setReading((!tunnel && body.complete()) || worker.writable());
    }
  }

  /** Passes the end of the client's bytes on. The worker can still answer. */
  void clientEnds(@Nullable Attempt attempt) {
    UpstreamConnection worker = attempt == null ? null : attempt.connection();
    if (attempt != null && worker != null) {
      clientEnded = true;
      worker.endOutput();
      attempt.requestMoved();
    }
  }

  /** True if the client sends nothing more, but may still read. */
  boolean clientEnded() {
    return clientEnded;
  }

  /** Reports that the worker accepts bytes again, or should get none for the present. */
  void workerWritable(boolean writable) {
    if (tunnel || (!body.replayable() && !body.complete())) {
      lastReadAt = state.now();
      client.setReading(writable);
    }
  }

  /** True if all received bytes were forwarded and the client must send more. */
  boolean waitsForClient(@Nullable Attempt attempt) {
    UpstreamConnection worker = streamingTo(attempt);
    return worker != null && !body.complete() && worker.writable();
  }

  /** True if the client sends the body below the minimum rate. */
  boolean tooSlow(long now, boolean waits, ClientLimits limits) {
    return rate.tooSlow(now, waits, body.total(), limits);
  }
}
