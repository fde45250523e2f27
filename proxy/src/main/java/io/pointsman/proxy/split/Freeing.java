package io.pointsman.proxy.split;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.disagg.Placement;
import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.Leg;
import io.pointsman.engine.disagg.plan.Terms;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.split.leg.SideLeg;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SplitListener.HandoverEnd;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has decode workers free what a prefill holds and nobody wants: asks one after the other until one
 * has answered or the hand-over's lease is over. Those that have failed come last. Outlives the
 * request; belongs to its event loop.
 */
final class Freeing implements SideLeg.Owner {
  private static final Logger LOG = LoggerFactory.getLogger(Freeing.class);

  private static final int MOST_ASKED = 32;

  /** Errors after which it is believed that nothing is held any more. */
  private static final int MOST_REFUSALS = 4;

  private static final long FIRST_PAUSE_NANOS = 10_000_000L;
  private static final long MOST_PAUSE_NANOS = 1_000_000_000L;

  /** Makes the decode request that fetches what is held. */
  @FunctionalInterface
  interface Fetch {
    /** Null if there is nothing to fetch. */
    @Nullable Leg by(Worker decode);
  }

  /**
   * What is to be freed.
   *
   * @param pair whose prefill worker holds it, and whose decode worker it was made for
   * @param body the client's
   * @param until when prefill lets go of it by itself
   */
  record Held(Placement.Split pair, Terms terms, Fetch fetch, KeptBody body, long until) {}

  private final SplitCourse course;
  private final SplitPlane plane;
  private final Held held;

  /** Any decode worker that has not failed yet. */
  private final RoutingRequest untried;

  private int asked;
  private int refusals;
  private long pause = FIRST_PAUSE_NANOS;
  private final Runnable giveUp = this::giveUp;
  private @Nullable Future<?> timer;

  Freeing(SplitCourse course, Held held) {
    this.course = course;
    this.held = held;
    plane = course.plane();
    RoutingRequest decode = course.request().decode();
    untried = decode.copy();
    decode.tried().forEach(untried::exclude);
  }

  /** Asks whoever can be had. */
  void begin() {
    if (entered()) {
      next();
    }
  }

  /** Asks the worker of {@code lease}, which is taken over, and others if it fails. */
  void begin(Lease lease) {
    if (entered()) {
      ask(lease);
    } else {
      lease.ignored();
    }
  }

  private boolean entered() {
    boolean room = course.tools().bodies().enter(held.body().length());
    if (room) {
      held.body().retain();
    } else {
      plane.listener().handover(HandoverEnd.LEFT);
    }
    return room;
  }

  private void next() {
    boolean late = course.now() - held.until() >= 0;
    if (late || asked >= MOST_ASKED || refusals >= MOST_REFUSALS) {
      end(HandoverEnd.LEFT);
      return;
    }
    Lease lease;
    try {
      lease = place();
    } catch (RuntimeException e) {
      defect(e);
      return;
    }
    if (lease == null) {
      later();
    } else {
      ask(lease);
    }
  }

  private @Nullable Lease place() {
    RoutingRequest any = untried.copy();
    if (held.terms().bond() == Terms.Bond.THIS_DECODE) {
      return plane.engine().place(any, held.pair().decode().worker());
    }
    return switch (plane.engine().attempt(untried)) {
      case Decision.Routed(Lease lease) -> lease;
      case Decision.Rejected rejection when rejection.reason() == RejectReason.ALL_BUSY -> null;
      case Decision.Rejected _ ->
          plane.engine().attempt(any) instanceof Decision.Routed(Lease lease) ? lease : null;
    };
  }

  private void ask(Lease lease) {
    SideLeg request;
    try {
      request = request(lease);
    } catch (RuntimeException e) {
      lease.ignored();
      defect(e);
      return;
    }
    if (request == null) {
      lease.ignored();
      end(HandoverEnd.COMPLETE);
    } else {
      asked++;
      untried.exclude(lease.worker());
      if (once()) {
        request.startOnce();
      } else {
        request.start();
      }
    }
  }

  /** Whether no second request may be sent where the first one may have arrived. */
  private boolean once() {
    return held.terms().release() == Terms.Release.SEND_ONCE;
  }

  /** A decode request that only fetches the blocks; null if decode has nothing to fetch. */
  private @Nullable SideLeg request(Lease lease) {
    Leg leg = held.fetch().by(lease.worker());
    if (leg == null) {
      return null;
    }
    List<BodyEdit> edits = new ArrayList<>(leg.edits());
    edits.addAll(held.terms().releasing());
    return course.legs().side(held.body(), leg, edits, lease, plane.stages().release(), this);
  }

  private void later() {
    if (!course.tools().bodies().waits(giveUp)) {
      end(HandoverEnd.LEFT);
      return;
    }
    timer = course.state().loop().schedule(this::goOn, pause, TimeUnit.NANOSECONDS);
    pause = Math.min(2 * pause, MOST_PAUSE_NANOS);
  }

  private void goOn() {
    course.tools().bodies().goesOn(giveUp);
    next();
  }

  private void giveUp() {
    if (timer != null) {
      timer.cancel(false);
    }
    end(HandoverEnd.LEFT);
  }

  @Override
  public void answered(SideLeg leg, byte[] body) {
    end(HandoverEnd.RELEASED);
    leg.lease().succeeded();
  }

  /** An error need not be the worker's fault: what it was to fetch may be gone. */
  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    boolean busy = error.busy();
    if (busy) {
      leg.lease().worker().rest(error.restNanos(), error.status());
    } else {
      refusals++;
    }
    leg.lease().ignored();
    error.release();
    againUnlessTaken(busy);
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    againUnlessTaken(reason == RetryReason.CONNECT);
  }

  /**
   * @param untaken whether the worker certainly did not take the request
   */
  private void againUnlessTaken(boolean untaken) {
    if (once() && !untaken) {
      end(HandoverEnd.LEFT);
    } else {
      later();
    }
  }

  private void defect(RuntimeException defect) {
    LOG.error("the KV blocks on {} cannot be freed", held.pair().prefill().worker(), defect);
    end(HandoverEnd.LEFT);
  }

  private void end(HandoverEnd end) {
    course.tools().bodies().leave(held.body().length());
    held.body().release();
    plane.listener().handover(end);
  }
}
