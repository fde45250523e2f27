package io.pointsman.proxy.flush;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadEventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * Sends what was written to the connections of one event loop together, when the loop has gone
 * through what it had to read. Sending at once would wake the other side for one message, have it
 * fall asleep again and wake it for the next one; this way it finds several. While a round has next
 * to nothing to send, it is sent when the connection that it follows from has been read: with
 * io_uring the kernel is then told of both in one call. Belongs to its event loop.
 */
public final class Flushes {
  /** So many connections wait at most: bounds how long the first of them does. */
  private static final int MOST_WAITING = 64;

  /** With so many flushes in a round, or fewer, none waits for others. */
  private static final int FEW = 4;

  private final Executor endOfRound;
  private final List<Flush> waiting = new ArrayList<>(MOST_WAITING);
  private boolean asked;
  private boolean flushing;

  /** Flushed in this round so far. */
  private int flushed;

  /** Whether the round before had few. */
  private boolean few = true;

  public Flushes(EventLoop loop) {
    endOfRound =
        loop instanceof SingleThreadEventLoop own ? own::executeAfterEventLoopIteration : loop;
  }

  /** What is to be flushed of one connection; made once for each. */
  public final class Flush {
    private final Channel channel;
    private boolean isWaiting;

    private Flush(Channel channel) {
      this.channel = channel;
    }

    /** Flushes the connection soon; calling it again until then changes nothing. */
    public void soon() {
      if (!isWaiting) {
        isWaiting = true;
        add(this);
      }
    }
  }

  /** How {@code channel}, one of the event loop's, is flushed. */
  public Flush of(Channel channel) {
    return new Flush(channel);
  }

  private void add(Flush flush) {
    waiting.add(flush);
    if (flushing) {
      return;
    }
    if (waiting.size() >= MOST_WAITING) {
      flushAll();
    } else if (!asked) {
      asked = true;
      endOfRound.execute(this::roundEnds);
    }
  }

  /** A connection has been read for now, and what follows from that is written. */
  public void readEnds() {
    if (few && !flushing) {
      flushAll();
    }
  }

  private void roundEnds() {
    asked = false;
    flushAll();
    few = flushed <= FEW;
    flushed = 0;
  }

  /** A flush may have others follow it: those are added behind, and flushed as well. */
  private void flushAll() {
    flushing = true;
    for (int i = 0; i < waiting.size(); i++) {
      Flush next = waiting.get(i);
      next.isWaiting = false;
      next.channel.flush();
    }
    flushed += waiting.size();
    waiting.clear();
    flushing = false;
  }
}
