package io.pointsman.proxy.body;

import io.netty.buffer.ByteBufAllocator;
import io.pointsman.request.coding.ContentCoding;
import io.pointsman.request.coding.Decoding;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decoder of compressed bodies on virtual threads: a few bytes can decode to megabytes, which would
 * keep an event loop from other requests. At most half of the processors decode; other bodies wait.
 * Thread-safe.
 */
public final class BodyDecoder {
  private static final Logger LOG = LoggerFactory.getLogger(BodyDecoder.class);

  private final BodyBudget budget;
  private final Semaphore permits;

  /** Receiver of a decoded body, on the event loop of the request. */
  public interface Receiver {
    /**
     * @param body the decoded body; its ownership passes to this method. Null if the result is not
     *     {@code COMPLETE}
     */
    void decoded(Decoding.Result result, @Nullable KeptBody body);

    /** Reports an unexpected exception. */
    void failed(Throwable defect);
  }

  /**
   * @param budget limit on the buffered bytes of all requests
   * @param processors number of processors
   */
  public BodyDecoder(BodyBudget budget, int processors) {
    this.budget = budget;
    permits = new Semaphore(Math.max(1, processors / 2));
  }

  /**
   * Decodes a body. Called on the event loop of the request.
   *
   * @param coded the body, which is retained until the end
   * @param most maximum number of decoded bytes
   * @param loop the event loop
   */
  public void decode(
      KeptBody coded,
      ContentCoding coding,
      long most,
      ByteBufAllocator allocator,
      Executor loop,
      Receiver receiver) {
    coded.retain();
    KeptBody into = new KeptBody(allocator, budget);
    Thread.ofVirtual()
        .name("pointsman-decode")
        .start(
            () -> {
              Runnable end = run(coded, coding, most, allocator, into, receiver);
              try {
                loop.execute(end);
              } catch (RejectedExecutionException e) {
                LOG.debug("the router stopped before a body was decoded", e);
                coded.release();
                into.release();
              }
            });
  }

  /** Decodes on the virtual thread. Returns the rest of the work for the event loop. */
  private Runnable run(
      KeptBody coded,
      ContentCoding coding,
      long most,
      ByteBufAllocator allocator,
      KeptBody into,
      Receiver receiver) {
    permits.acquireUninterruptibly();
    try {
      byte[] bytes = coded.copy();
      Decoding.Result result =
          Decoding.decode(
              coding,
              bytes,
              0,
              bytes.length,
              most,
              (part, size) -> into.add(allocator.buffer(size).writeBytes(part, 0, size), false));
      return () -> {
        coded.release();
        pass(result, into, receiver);
      };
    } catch (Throwable e) { // includes errors, because the client waits for an answer
      return () -> {
        coded.release();
        into.release();
        receiver.failed(e);
      };
    } finally {
      permits.release();
    }
  }

  private static void pass(Decoding.Result result, KeptBody into, Receiver receiver) {
    if (result == Decoding.Result.COMPLETE) {
      receiver.decoded(result, into);
    } else {
      into.release();
      receiver.decoded(result, null);
    }
  }
}
