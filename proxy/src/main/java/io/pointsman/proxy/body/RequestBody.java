package io.pointsman.proxy.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.RequestHead;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request: the bytes as they came, kept until the answer begins, so that they can be
 * sent again. One that outgrows the bound is kept up to there and streamed on from there, once. One
 * that must be looked through, since its head does not tell where it goes, is kept up to a higher
 * bound. Belongs to the client's event loop.
 */
public final class RequestBody {
  /** How many times the usual bound is kept of what must be looked through. */
  private static final int LOOKED_THROUGH = 8;

  /** What comes first is often less than the bound: so much is waited for before a second look. */
  private static final int SECOND_LOOK = 65_536;

  private static final long MOST_IN_AN_ARRAY = Integer.MAX_VALUE / 2;

  /** A body up to this size is copied behind its head, so that one buffer is sent. */
  private static final int SENT_WITH_HEAD = 8192;

  /** Room that a head and a body sent with it may need. */
  public static final int MOST_IN_ONE_BUFFER = 2 * SENT_WITH_HEAD;

  private final RequestHead head;
  private final ByteBufAllocator allocator;
  private final int maxBuffered;
  private final long mostLookedThrough;
  private final BodyBudget budget;
  private final boolean streamsIfTight;

  /** Null while nothing is kept. */
  private @Nullable KeptBody kept;

  /** What is to have come before the next look; 0 before the first, which comes when it can. */
  private long nextLook;

  private long total;
  private boolean complete;
  private boolean streaming;

  /**
   * @param maxBuffered bytes that are kept
   * @param budget bounds what is kept of all requests
   * @param streamsIfTight whether no more than a part of it need be kept when that is nearly
   *     reached
   */
  public RequestBody(
      RequestHead head,
      ByteBufAllocator allocator,
      int maxBuffered,
      BodyBudget budget,
      boolean streamsIfTight) {
    this.head = head;
    this.allocator = allocator;
    this.maxBuffered = maxBuffered;
    this.budget = budget;
    this.streamsIfTight = streamsIfTight;
    mostLookedThrough = Math.min((long) maxBuffered * LOOKED_THROUGH, MOST_IN_AN_ARRAY);
  }

  /** Bytes that came so far. */
  public long total() {
    return total;
  }

  /** Whether all of it has come. */
  public boolean complete() {
    return complete;
  }

  /** The last byte has come. */
  public void end() {
    complete = true;
  }

  /** Whether it is, or is going to be, larger than what is kept before it is looked at. */
  public boolean outgrown() {
    if (complete || nextLook > 0) {
      return !complete && buffered() >= nextLook;
    }
    return buffered() >= maxBuffered
        || head.contentLength() > maxBuffered
        || (streamsIfTight && buffered() >= SECOND_LOOK && budget.tight());
  }

  /** Whether there is room for what is going to be kept, as far as that can be told. */
  public boolean fits() {
    long announced = head.contentLength();
    return streamsIfTight || announced <= 0 || announced > maxBuffered || budget.admits(announced);
  }

  /**
   * Keeps more of it, to be looked at again: twice as much as now, so that all looks together read
   * at most three times its bytes.
   *
   * @return whether more is kept; if not, it is complete or as much of it is kept as may be
   */
  public boolean keepsMore() {
    if (complete || buffered() >= mostLookedThrough) {
      return false;
    }
    nextLook = Math.min(mostLookedThrough, Math.max(2L * buffered(), SECOND_LOOK));
    return true;
  }

  /** Whether all of it, from the first byte on, can be sent once more. */
  public boolean replayable() {
    return !streaming;
  }

  /**
   * Keeps a part.
   *
   * @param part taken over
   * @return false if there is no room for it
   */
  public boolean keep(ByteBuf part) {
    int length = part.readableBytes();
    total += length;
    KeptBody into = kept;
    if (into == null) {
      into = new KeptBody(allocator, budget);
      kept = into;
    }
    return into.add(part, length == head.contentLength());
  }

  /** Bytes kept. */
  public int buffered() {
    return kept == null ? 0 : kept.length();
  }

  /** All of it, owned by this; null if it is not there as a whole. */
  public @Nullable KeptBody whole() {
    return complete && !streaming ? kept : null;
  }

  /** Copies what is kept into {@code target}, which has room for {@link #buffered} bytes. */
  public void copyTo(byte[] target) {
    if (kept != null) {
      kept.copyTo(target);
    }
  }

  /** The length to announce to the worker; {@link RequestHead#UNKNOWN} for chunks. */
  public long announced() {
    return complete ? total : head.contentLength();
  }

  /**
   * Sends what is kept, behind the head. It stays counted until the connection is rid of it.
   *
   * @param headBytes the head; taken over
   */
  public void send(UpstreamConnection to, ByteBuf headBytes) {
    boolean chunked = announced() == RequestHead.UNKNOWN;
    KeptBody body = kept;
    if (body == null) {
      to.write(headBytes);
    } else if (complete && !chunked && body.length() <= SENT_WITH_HEAD) {
      body.copyTo(headBytes);
      to.write(headBytes);
    } else {
      to.write(headBytes);
      List<ByteBuf> parts = body.slices();
      for (ByteBuf part : parts.subList(0, parts.size() - 1)) {
        forward(to, part, chunked);
      }
      body.retain();
      forwardLast(to, parts.getLast(), chunked, body::release);
    }
  }

  /** From here on parts go straight to the worker: what was kept is let go, it cannot be resent. */
  public void beginStreaming() {
    streaming = true;
    release();
  }

  /** Sends on a part that is not kept; takes over its ownership. */
  public void stream(UpstreamConnection to, ByteBuf part) {
    total += part.readableBytes();
    forward(to, part, head.contentLength() == RequestHead.UNKNOWN);
  }

  /** Sends the end of a streamed body. */
  public void streamEnd(UpstreamConnection to) {
    if (head.contentLength() == RequestHead.UNKNOWN) {
      to.write(allocator.buffer(LAST_CHUNK.length).writeBytes(LAST_CHUNK));
    }
  }

  private static final byte[] LAST_CHUNK = {'0', '\r', '\n', '\r', '\n'};

  private void forward(UpstreamConnection to, ByteBuf part, boolean asChunk) {
    if (asChunk) {
      beginChunk(to, part);
      to.write(chunkEnd());
    } else {
      to.write(part);
    }
  }

  /** What lies in the connection's queue takes up as much memory as what is kept. */
  private void forwardLast(UpstreamConnection to, ByteBuf part, boolean asChunk, Runnable onGone) {
    if (asChunk) {
      beginChunk(to, part);
      to.writeLast(chunkEnd(), onGone);
    } else {
      to.writeLast(part, onGone);
    }
  }

  private void beginChunk(UpstreamConnection to, ByteBuf part) {
    ByteBuf size = allocator.buffer(10);
    Decimals.writeChunkSize(size, part.readableBytes());
    to.write(size);
    to.write(part);
  }

  private ByteBuf chunkEnd() {
    return allocator.buffer(2).writeByte('\r').writeByte('\n');
  }

  /** Lets go of everything kept. */
  public void release() {
    KeptBody last = kept;
    kept = null;
    if (last != null) {
      last.release();
    }
  }
}
