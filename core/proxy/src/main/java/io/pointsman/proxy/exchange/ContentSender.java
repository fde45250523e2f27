package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.proxy.local.LocalContent;
import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sender of a body that is not kept in memory. A virtual thread reads the next piece when the
 * client has taken the one before.
 */
final class ContentSender {
  private static final Logger LOG = LoggerFactory.getLogger(ContentSender.class);
  private static final int PIECE = 64 << 10;

  /** Receiver of the pieces, on the event loop. */
  interface Sink {
    void piece(ByteBuf piece);

    /**
     * Reports the end.
     *
     * @param complete false if the body could not be read to its end
     */
    void ended(boolean complete);
  }

  private final LocalContent content;
  private final ClientConnection client;
  private final Sink sink;
  private final Semaphore demand = new Semaphore(0);
  private volatile boolean stopped;

  ContentSender(LocalContent content, ClientConnection client, Sink sink) {
    this.content = content;
    this.client = client;
    this.sink = sink;
  }

  /** Starts to send. */
  void start() {
    Thread.ofVirtual().name("pointsman-content").start(this::run);
    demand.release();
  }

  /** Asks for the next piece. */
  void taken() {
    if (demand.availablePermits() == 0) {
      demand.release();
    }
  }

  /** Stops; no further piece comes. */
  void stop() {
    stopped = true;
    demand.release();
  }

  private void run() {
    boolean complete = false;
    try (InputStream in = content.open()) {
      long left = content.length();
      while (left > 0) {
        demand.acquire();
        if (stopped) {
          return;
        }
        byte[] piece = in.readNBytes((int) Math.min(PIECE, left));
        if (piece.length == 0) {
          break;
        }
        left -= piece.length;
        client.state().loop().execute(() -> sink.piece(Unpooled.wrappedBuffer(piece)));
      }
      complete = left == 0;
    } catch (IOException e) {
      LOG.warn("cannot read the body of an answer: {}", e.toString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RejectedExecutionException e) {
      LOG.debug("the router stopped before the end of an answer", e);
      return;
    }
    end(complete);
  }

  private void end(boolean complete) {
    try {
      client.state().loop().execute(() -> sink.ended(complete));
    } catch (RejectedExecutionException e) {
      LOG.debug("the router stopped before the end of an answer", e);
    }
  }
}
