package io.pointsman.app.kvevents;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.engine.kv.KvFeed.Cause;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the sources of one worker feed, one at a time. A feed that throws loses what it was told
 * until then, since a part of it may be missing, and nothing else ends.
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

  /** One rank of the worker, as long as its source is not closed. Guarded by the turn. */
  final class Line {
    private final int rank;
    private boolean closed;
    private volatile boolean live;

    private Line(int rank) {
      this.rank = rank;
    }

    /** Says that there is such a rank, of which nothing is known yet. */
    private Line announced() {
      inTurn(() -> feed.live(worker, rank, false));
      return this;
    }

    /** Returns whether they were taken; if not, what was told before counts no more either. */
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

    /** Says that the source is gone; nothing is said afterwards. */
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

  Line line(int rank) {
    return new Line(rank).announced();
  }
}
