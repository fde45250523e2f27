package io.pointsman.proxy.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.splice.Splice;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request, buffered until the answer starts, so it can be sent again. A body above
 * the limit is buffered up to the limit; the rest is streamed and cannot be sent again. If the
 * first part does not suffice for routing, a higher limit applies. Belongs to the client's event
 * loop.
 */
public final class RequestBody {
  /** Factor of the higher limit, for bodies that must be searched further. */
  private static final int LOOKED_THROUGH = 8;

  /**
   * Bytes to buffer before the second read of the fields. The first read often has fewer bytes than
   * the limit.
   */
  private static final int SECOND_LOOK = 65_536;

  private static final long MOST_IN_AN_ARRAY = Integer.MAX_VALUE / 2;

  /** Maximum size in bytes of a body that is copied after its head and sent in one buffer. */
  private static final int SENT_WITH_HEAD = 8192;

  /** Maximum size in bytes of a buffer with a head and its body. */
  public static final int MOST_IN_ONE_BUFFER = 2 * SENT_WITH_HEAD;

  private final RequestHead head;
  private final ByteBufAllocator allocator;
  private final int maxBuffered;
  private final long mostLookedThrough;
  private final BodyBudget budget;
  private final boolean streamsIfTight;

  /** The bytes for the worker; null while nothing is buffered. */
  private @Nullable KeptBody kept;

  /** The decoded body if the worker gets it as it came; null otherwise. */
  private @Nullable KeptBody plain;

  /** Size in bytes of the decoded body for the worker; {@link RequestHead#UNKNOWN} for none. */
  private long decodedLength = RequestHead.UNKNOWN;

  /** Number of buffered bytes before the next read of the fields; 0 before the first read. */
  private long nextLook;

  private long total;

  /** Bytes that an edit has added; negative if it has removed some. */
  private int added;

  private boolean complete;
  private boolean streaming;

  /**
   * @param maxBuffered limit in bytes
   * @param budget limit on the buffered bytes of all requests
   * @param streamsIfTight true if a part of the body suffices when the budget is nearly used
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

  /** Number of received bytes. */
  public long total() {
    return total;
  }

  /** True if the complete body was received. */
  public boolean complete() {
    return complete;
  }

  /** Marks the body as completely received. */
  public void end() {
    complete = true;
  }

  /**
   * True if the body is larger than the next limit, or will be. Its fields are then read from the
   * part that was received.
   */
  public boolean outgrown() {
    if (complete || nextLook > 0) {
      return !complete && buffered() >= nextLook;
    }
    return buffered() >= maxBuffered
        || head.contentLength() > maxBuffered
        || (streamsIfTight && buffered() >= SECOND_LOOK && budget.tight());
  }

  /** True if the budget has room for the announced size, as far as that is known. */
  public boolean fits() {
    long announced = head.contentLength();
    return streamsIfTight || announced <= 0 || announced > maxBuffered || budget.admits(announced);
  }

  /**
   * Raises the limit for a further read of the fields. Each step doubles it, so all reads together
   * read at most three times the bytes.
   *
   * @return false if the body is complete or the highest limit is reached
   */
  public boolean keepsMore() {
    if (complete || buffered() >= mostLookedThrough) {
      return false;
    }
    nextLook = Math.min(mostLookedThrough, Math.max(2L * buffered(), SECOND_LOOK));
    return true;
  }

  /** True if the complete body can be sent again from its first byte. */
  public boolean replayable() {
    return !streaming;
  }

  /**
   * Buffers a part.
   *
   * @param part ownership passes to this method
   * @return false if the budget has no room
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

  /**
   * Sets the decoded form of the complete body. Afterwards the methods that read the body return
   * it.
   *
   * @param decoded ownership passes to this object
   * @param forwards true if the worker gets the body as it came
   */
  public void decoded(KeptBody decoded, boolean forwards) {
    if (forwards) {
      plain = decoded;
    } else {
      release();
      kept = decoded;
      decodedLength = decoded.length();
    }
  }

  /** True if the worker gets the decoded body in place of the client's. */
  public boolean sentDecoded() {
    return decodedLength != RequestHead.UNKNOWN;
  }

  private @Nullable KeptBody readable() {
    return plain == null ? kept : plain;
  }

  /** Number of buffered bytes. */
  public int buffered() {
    KeptBody read = readable();
    return read == null ? 0 : read.length();
  }

  /** The complete body, which this object owns; null if it is not complete. */
  public @Nullable KeptBody whole() {
    return complete && !streaming ? readable() : null;
  }

  /**
   * Copies the buffered bytes to the start of {@code target}, which has room for {@link #buffered}
   * bytes.
   */
  public void copyTo(byte[] target) {
    KeptBody read = readable();
    if (read != null) {
      read.copyTo(target);
    }
  }

  /** Changes the buffered bytes. The worker then gets the decoded body in any case. */
  public void edit(Splice splice) {
    KeptBody decoded = plain;
    if (decoded != null) {
      plain = null;
      release();
      kept = decoded;
      decodedLength = decoded.length();
    }
    KeptBody edited = kept;
    if (edited != null) {
      added += splice.length() - edited.length();
      edited.edit(splice);
    }
  }

  /** Content length for the worker; {@link RequestHead#UNKNOWN} for chunks. */
  public long announced() {
    if (sentDecoded()) {
      return decodedLength + added;
    }
    long received = complete ? total : head.contentLength();
    return received == RequestHead.UNKNOWN ? received : received + added;
  }

  /**
   * Sends the head and the buffered bytes. The bytes count in the budget until the connection has
   * sent or dropped them.
   *
   * @param headBytes the head; ownership passes to this method
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

  /**
   * Switches to streaming: later parts go directly to the worker. The buffered bytes are released;
   * the request cannot be sent again.
   */
  public void beginStreaming() {
    streaming = true;
    release();
  }

  /** Sends a part without buffering it. Its ownership passes to this method. */
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

  /**
   * The last part releases the body only after it leaves the queue, because queued bytes use memory
   * too.
   */
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

  /** Releases all buffered bytes. */
  public void release() {
    KeptBody last = kept;
    KeptBody read = plain;
    kept = null;
    plain = null;
    if (last != null) {
      last.release();
    }
    if (read != null) {
      read.release();
    }
  }
}
