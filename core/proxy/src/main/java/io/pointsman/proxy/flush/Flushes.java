package io.pointsman.proxy.flush;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadEventLoop;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Batched flushes of the connections of one event loop. Writes of a round are sent together at its
 * end. Otherwise the receiver would wake and sleep once for each message. In a round with few
 * flushes, each is sent when the connection that caused it has been read. With io_uring one system
 * call then submits both. Belongs to its event loop.
 */
public final class Flushes {
  private static final Logger LOG = LoggerFactory.getLogger(Flushes.class);

  /** Maximum number of connections that wait, which bounds the delay of the first. */
  private static final int MOST_WAITING = 64;

  /** Maximum number of flushes in a round with few. They do not wait for each other. */
  private static final int FEW = 4;

  private final Executor endOfRound;
  private final List<Flush> waiting = new ArrayList<>(MOST_WAITING);
  private boolean asked;
  private boolean flushing;

  /** Number of flushes in this round. */
  private int flushed;

  /** True if the previous round had few flushes. */
  private boolean few = true;

  public Flushes(EventLoop loop) {
    endOfRound =
        loop instanceof SingleThreadEventLoop own ? own::executeAfterEventLoopIteration : loop;
  }

  /** Pending flush of one connection. One object per connection. */
  public final class Flush {
    private final Channel channel;
    private final @Nullable BooleanSupplier condition;
    private boolean isWaiting;

    private Flush(Channel channel, @Nullable BooleanSupplier condition) {
      this.channel = channel;
      this.condition = condition;
    }

    private void now() {
      isWaiting = false;
      if (condition == null || condition.getAsBoolean()) {
        channel.flush();
      }
    }

    /** Flushes the connection soon. Further calls before that have no effect. */
    public void soon() {
      if (!isWaiting) {
        isWaiting = true;
        add(this);
      }
    }
  }

  /** The flush of {@code channel}, a channel of the event loop. */
  public Flush of(Channel channel) {
    return new Flush(channel, null);
  }

  /**
   * The flush of {@code channel}, a channel of the event loop.
   *
   * @param condition asked directly before each flush; if it is false, nothing is flushed
   */
  public Flush of(Channel channel, BooleanSupplier condition) {
    return new Flush(channel, condition);
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

  /** Reports that a connection was read and the resulting bytes are written. */
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

  /** A flush can cause others. These are appended and flushed in the same loop. */
  private void flushAll() {
    flushing = true;
    for (int i = 0; i < waiting.size(); i++) {
      flush(waiting.get(i));
    }
    flushed += waiting.size();
    waiting.clear();
    flushing = false;
  }

  /** Closes a connection that cannot be flushed. The others must not wait for it. */
  @SuppressWarnings("FutureReturnValueIgnored") // the result of closing does not matter
  private static void flush(Flush next) {
    try {
      next.now();
    } catch (RuntimeException | Error e) {
      LOG.error("{} is closed, because it cannot be flushed", next.channel, e);
      next.channel.close();
    }
  }
}
