package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.wire.RequestDecoder;
import org.jspecify.annotations.Nullable;

/**
 * Decodes what a client sends, one request after the other. A request that the client sends ahead,
 * while another is being answered, is not decoded before its turn: it stays as bytes, and nothing
 * is read behind them, so that they are those of one read, or of two where a second was under way.
 * Belongs to the connection's event loop.
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
    LimitSettings limits = state.plane().limits();
    decoder =
        new RequestDecoder(
            connection,
            state.allocator(),
            state::scratch,
            limits.maxUriBytes(),
            limits.maxHeaderBytes());
  }

  /** Takes what was read; takes over its ownership. */
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

  /** Takes up what the client sent ahead, and reads on if that was not another request. */
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

  /** Whether there is something that the client sent ahead. */
  boolean holdsAhead() {
    return ahead != null;
  }

  /** Lets go of what was not decoded. */
  void release() {
    if (ahead != null) {
      ahead.release();
      ahead = null;
    }
  }
}
