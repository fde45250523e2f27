package io.pointsman.control.kvevents;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.engine.kv.KvFeed.Cause;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Passes the events of a worker's sources to the feed, one call at a time. If the feed throws, the
 * state of that rank is reset, because a part may be missing. Other ranks continue.
 */
final class KvOutlet {
  private static final Logger log = LoggerFactory.getLogger(KvOutlet.class);

  private final Worker worker;
  private final KvFeed feed;
  private final ReentrantLock turn = new ReentrantLock();

  KvOutlet(Worker worker, KvFeed feed) {
    this.worker = worker;
    this.feed = feed;
  }

  Worker worker() {
    return worker;
  }

  /** One rank of the worker, until its source is closed. Guarded by {@code turn}. */
  final class OutletLine {
    private final int rank;
    private boolean closed;
    private volatile boolean live;

    private OutletLine(int rank) {
      this.rank = rank;
    }

    /** Reports that the rank exists and that its state is unknown. */
    private OutletLine announced() {
      inTurn(() -> feed.live(worker, rank, false));
      return this;
    }

    /**
     * Passes events to the feed.
     *
     * @return false if the feed failed; the state of the rank is then reset
     */
    boolean apply(List<KvEvent> events) {
      boolean taken = inTurn(() -> feed.apply(worker, rank, events));
      if (!taken) {
        reset(Cause.MISSED);
      }
      return taken;
    }

    void reset(Cause cause) {
      inTurn(() -> feed.reset(worker, rank, cause));
    }

    void restarted(long lostUntil) {
      inTurn(() -> feed.restarted(worker, rank, lostUntil));
    }

    void live(boolean now) {
      inTurn(
          () -> {
            if (live != now) {
              live = now;
              feed.live(worker, rank, now);
            }
          });
    }

    boolean isLive() {
      return live;
    }

    /** Reports that the source is gone; later calls have no effect. */
    void close() {
      turn.lock();
      try {
        live(false);
        reset(Cause.GONE);
        closed = true;
      } finally {
        turn.unlock();
      }
    }

    private boolean inTurn(Runnable task) {
      turn.lock();
      try {
        if (!closed) {
          task.run();
        }
        return true;
      } catch (RuntimeException e) {
        log.error("KV events of {}, rank {}: cannot be applied", worker, rank, e);
        return false;
      } finally {
        turn.unlock();
      }
    }
  }

  OutletLine line(int rank) {
    return new OutletLine(rank).announced();
  }
}
