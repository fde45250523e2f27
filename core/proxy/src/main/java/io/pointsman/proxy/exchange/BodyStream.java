package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request as a stream for another thread. The event loop adds the parts as they
 * arrive. If the reader is slow, the client is not read until most of the parts are taken.
 */
final class BodyStream extends InputStream {
  /** Number of waiting bytes above which the client is not read. */
  static final int MOST_WAITING = 256 << 10;

  private static final int FEW_WAITING = MOST_WAITING / 4;

  private final Runnable resume;
  private final Deque<byte[]> parts = new ArrayDeque<>();

  /** Next byte of the first part. */
  private int at;

  private int waiting;
  private boolean paused;
  private boolean ended;
  private boolean closed;
  private @Nullable String broken;

  /**
   * @param resume called when the client may be read again, from the reader's thread
   */
  BodyStream(Runnable resume) {
    this.resume = resume;
  }

  /**
   * Adds a part and releases it.
   *
   * @return false if the client must not be read for the present
   */
  synchronized boolean add(ByteBuf part) {
    byte[] bytes = new byte[part.readableBytes()];
    part.readBytes(bytes);
    part.release();
    if (closed || ended || bytes.length == 0) {
      return true;
    }
    parts.add(bytes);
    waiting += bytes.length;
    paused |= waiting > MOST_WAITING;
    notifyAll();
    return !paused;
  }

  /** Ends the body. */
  synchronized void end() {
    ended = true;
    notifyAll();
  }

  /** Breaks the body. Reads fail from now on. */
  synchronized void fail(String reason) {
    if (!ended && broken == null) {
      broken = reason;
      parts.clear();
      notifyAll();
    }
  }

  /** True if the body will not come to its end. */
  synchronized boolean broken() {
    return broken != null;
  }

  /** True while the client must not be read. */
  synchronized boolean paused() {
    return paused;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    Objects.checkFromIndexSize(offset, length, into.length);
    if (length == 0) {
      return 0;
    }
    int count;
    boolean resumes;
    synchronized (this) {
      byte[] part = next();
      if (part == null) {
        return -1;
      }
      count = Math.min(length, part.length - at);
      System.arraycopy(part, at, into, offset, count);
      at += count;
      waiting -= count;
      if (at == part.length) {
        parts.remove();
        at = 0;
      }
      resumes = paused && waiting <= FEW_WAITING;
      paused &= !resumes;
    }
    if (resumes) {
      resume.run();
    }
    return count;
  }

  /** Waits for a part; null at the end of the body. */
  private synchronized byte @Nullable [] next() throws IOException {
    while (parts.isEmpty()) {
      if (broken != null) {
        throw new IOException(broken);
      }
      if (ended || closed) {
        return null;
      }
      try {
        wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", e);
      }
    }
    return parts.getFirst();
  }

  /** Drops all that waits and that still comes. */
  @Override
  public void close() {
    boolean resumes;
    synchronized (this) {
      closed = true;
      parts.clear();
      waiting = 0;
      resumes = paused;
      paused = false;
      notifyAll();
    }
    if (resumes) {
      resume.run();
    }
  }
}
