package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.wire.RequestDecoder;
import org.jspecify.annotations.Nullable;

/**
 * Decoder of a client's requests, one after another. A request that arrives during an answer waits
 * as bytes, and reading pauses. These are the bytes of one read, or of two if a second was in
 * progress. Belongs to the connection's event loop.
 */
final class ClientDecoder {
  private final ClientConnection connection;
  private final LoopState state;
  private final RequestDecoder decoder;
  private @Nullable ByteBuf ahead;
  private boolean decoding;

  ClientDecoder(ClientConnection connection, LoopState state) {
    this.connection = connection;
    this.state = state;
    LimitSettings limits = state.server().live().limits();
    decoder =
        new RequestDecoder(
            connection,
            state.allocator(),
            state::scratch,
            limits.maxUriBytes(),
            limits.maxHeaderBytes());
  }

  /** Decodes received bytes. Their ownership passes to this method. */
  void received(ByteBuf bytes) {
    connection.bytesCame();
    ByteBuf before = ahead;
    ahead = null;
    decode(before == null ? bytes : joined(before, bytes));
  }

  private ByteBuf joined(ByteBuf first, ByteBuf second) {
    ByteBuf both = state.allocator().buffer(first.readableBytes() + second.readableBytes());
    both.writeBytes(first).writeBytes(second);
    first.release();
    second.release();
    return both;
  }

  private void decode(ByteBuf bytes) {
    decoding = true;
    ByteBuf rest = decoder.decode(bytes);
    decoding = false;
    if (rest == null) {
      return;
    }
    if (connection.ending()) {
      rest.release();
    } else {
      ahead = rest;
      connection.updateReading();
    }
  }

  /** Decodes the waiting bytes. Reading resumes unless another request remains. */
  void resume() {
    ByteBuf next = ahead;
    if (next == null || decoding || !connection.takesMore()) {
      return;
    }
    ahead = null;
    connection.bytesCame();
    decode(next);
    connection.updateReading();
  }

  /** Takes the waiting bytes, with their ownership, because they are no request; null if none. */
  @Nullable ByteBuf takeAhead() {
    ByteBuf taken = ahead;
    ahead = null;
    return taken;
  }

  /** True if bytes of a later request are waiting. */
  boolean holdsAhead() {
    return ahead != null;
  }

  /** Releases the waiting bytes. */
  void release() {
    if (ahead != null) {
      ahead.release();
      ahead = null;
    }
  }
}
