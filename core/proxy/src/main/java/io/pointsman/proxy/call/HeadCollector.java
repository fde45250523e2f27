package io.pointsman.proxy.call;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.wire.ResponseHead;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Collector of the head of a worker's answer. It parses the head, from one or more reads, into
 * {@link LoopState#head}. It passes interim answers on. Belongs to the event loop.
 */
final class HeadCollector {
  /** Result of {@link #take}. */
  enum Progress {
    MORE,
    COMPLETE,
    MALFORMED
  }

  /** Number of bytes of the first parse. Most heads are smaller. */
  private static final int FIRST_LOOK = 2048;

  /** Maximum number of interim answers; more are a protocol error. */
  private static final int MOST_INTERIM = 64;

  private final LoopState state;
  private final boolean upgrades;
  private final Consumer<ResponseHead> onInterim;
  private @Nullable ByteBuf partial;
  private ByteBuf rest = Unpooled.EMPTY_BUFFER;
  private int interim;

  /**
   * @param upgrades true if the worker may switch to the WebSocket protocol
   * @param onInterim receives interim answers such as 103, except 100
   */
  HeadCollector(LoopState state, boolean upgrades, Consumer<ResponseHead> onInterim) {
    this.state = state;
    this.upgrades = upgrades;
    this.onInterim = onInterim;
  }

  /** True if a part of an answer was received. */
  boolean begun() {
    return partial != null || interim > 0;
  }

  /** Parses the next bytes. Their ownership passes to this method. */
  Progress take(ByteBuf bytes) {
    ByteBuf in = bytes;
    if (partial != null) {
      in = partial.writeBytes(bytes);
      partial = null;
      bytes.release();
    }
    while (in.isReadable()) {
      int length = parse(in);
      if (length == ResponseHead.INCOMPLETE) {
        keep(in);
        return Progress.MORE;
      }
      if (length == ResponseHead.MALFORMED || switchesUnasked()) {
        in.release();
        return Progress.MALFORMED;
      }
      in.skipBytes(length);
      if (!state.head().interim()) {
        rest = in;
        return Progress.COMPLETE;
      }
      if (++interim > MOST_INTERIM) {
        in.release();
        return Progress.MALFORMED;
      }
      if (state.head().status() != 100) {
        onInterim.accept(state.head());
      }
    }
    in.release();
    return Progress.MORE;
  }

  private boolean switchesUnasked() {
    return state.head().status() == 101 && !(upgrades && state.head().switchesToWebSocket());
  }

  private int parse(ByteBuf in) {
    int all = Math.min(in.readableBytes(), state.maxHeadBytes());
    int length = parse(in, Math.min(all, FIRST_LOOK));
    if (length == ResponseHead.INCOMPLETE && all > FIRST_LOOK) {
      length = parse(in, all);
    }
    boolean tooLarge = length == ResponseHead.INCOMPLETE && all == state.maxHeadBytes();
    return tooLarge ? ResponseHead.MALFORMED : length;
  }

  private int parse(ByteBuf in, int length) {
    byte[] scratch = state.scratch(length);
    in.getBytes(in.readerIndex(), scratch, 0, length);
    return state.head().parse(scratch, length);
  }

  private void keep(ByteBuf in) {
    ByteBuf own = state.allocator().buffer(in.readableBytes() + FIRST_LOOK);
    own.writeBytes(in);
    in.release();
    partial = own;
  }

  /** The bytes after the head. Their ownership passes to the caller. */
  ByteBuf takeRest() {
    ByteBuf taken = rest;
    rest = Unpooled.EMPTY_BUFFER;
    return taken;
  }

  /** Releases all buffers. */
  void release() {
    if (partial != null) {
      partial.release();
      partial = null;
    }
  }
}
