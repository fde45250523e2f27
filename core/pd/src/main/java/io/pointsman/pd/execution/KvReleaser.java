package io.pointsman.pd.execution;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.pd.execution.step.PrefillRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.Terms;
import io.pointsman.pd.rule.Placement;
import io.pointsman.pd.telemetry.SplitListener.HandoverEnd;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.splice.BodyEdit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Release of a prefill's blocks that no request needs. It sends a short decode request to one
 * worker after another, until one answers or the lease of the blocks expires. Workers that failed
 * before come last. It outlives the client's request and belongs to its event loop.
 */
final class KvReleaser implements PrefillRequest.Owner {
  private static final Logger LOG = LoggerFactory.getLogger(KvReleaser.class);

  private static final int MOST_ASKED = 32;

  /** Number of errors after which the blocks count as freed. */
  private static final int MOST_REFUSALS = 4;

  private static final long FIRST_PAUSE_NANOS = 10_000_000L;
  private static final long MOST_PAUSE_NANOS = 1_000_000_000L;

  /** Factory of decode requests that fetch the blocks. */
  @FunctionalInterface
  interface FetchForm {
    /** Null if there is nothing to fetch. */
    @Nullable PdStep by(Worker decode);
  }

  /**
   * The blocks to free.
   *
   * @param pair workers of the plan; its prefill worker holds the blocks
   * @param terms conditions of the release
   * @param fetch decode request that fetches the blocks
   * @param body the client's body
   * @param until time at which prefill frees the blocks itself, in nanoseconds
   */
  record ReservedKv(
      Placement.Split pair, Terms terms, FetchForm fetch, KeptBody body, long until) {}

  private final PdHandler handler;
  private final PdContext context;
  private final ReservedKv reserved;

  /** Any decode worker that has not failed. */
  private final RoutingRequest untried;

  /** Failures of the release. It ends before it ends a third engine. */
  private final RequestFaults faults;

  private int asked;
  private int refusals;
  private long pause = FIRST_PAUSE_NANOS;
  private final Runnable giveUp = this::giveUp;
  private @Nullable Future<?> timer;

  KvReleaser(PdHandler handler, ReservedKv reserved) {
    this.handler = handler;
    this.reserved = reserved;
    context = handler.context();
    faults = handler.served().request().faults().ofFurtherRequest();
    RoutingRequest decode = handler.request().decode();
    untried = decode.copy();
    decode.tried().forEach(untried::exclude);
  }

  /** Leaves the blocks to their lease. */
  void leave() {
    context.listener().handover(HandoverEnd.LEFT);
  }

  /** Starts with any available worker. */
  void begin() {
    if (entered()) {
      next();
    }
  }

  /**
   * Starts with the worker of {@code lease}, then others. The ownership of the lease passes to this
   * method.
   */
  void begin(Lease lease) {
    if (entered()) {
      ask(lease);
    } else {
      lease.ignored();
    }
  }

  private boolean entered() {
    boolean room = handler.tools().bodies().enter(reserved.body().length());
    if (room) {
      reserved.body().retain();
    } else {
      context.listener().handover(HandoverEnd.LEFT);
    }
    return room;
  }

  private void next() {
    boolean late = handler.now() - reserved.until() >= 0;
    if (late || !faults.mayGoOn() || asked >= MOST_ASKED || refusals >= MOST_REFUSALS) {
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
    if (reserved.terms().bond() == Terms.Bond.THIS_DECODE) {
      return context.engine().place(any, reserved.pair().decode().worker());
    }
    return switch (context.engine().attempt(untried)) {
      case Decision.Routed(Lease lease) -> lease;
      case Decision.Rejected rejection when rejection.reason() == RejectReason.ALL_BUSY -> null;
      case Decision.Rejected _ ->
          context.engine().attempt(any) instanceof Decision.Routed(Lease lease) ? lease : null;
    };
  }

  private void ask(Lease lease) {
    PrefillRequest request;
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

  /** True if a second request is forbidden once the first may have arrived. */
  private boolean once() {
    return reserved.terms().release() == Terms.Release.SEND_ONCE;
  }

  /** A decode request that only fetches the blocks; null if there is nothing to fetch. */
  private @Nullable PrefillRequest request(Lease lease) {
    PdStep step = reserved.fetch().by(lease.worker());
    if (step == null) {
      return null;
    }
    List<BodyEdit> edits = new ArrayList<>(step.edits());
    edits.addAll(reserved.terms().releasing());
    return handler
        .stepWriter()
        .side(reserved.body(), step, edits, lease, faults, context.stages().release(), this);
  }

  private void later() {
    if (!handler.tools().bodies().waits(giveUp)) {
      end(HandoverEnd.LEFT);
      return;
    }
    timer = handler.state().loop().schedule(this::goOn, pause, TimeUnit.NANOSECONDS);
    pause = Math.min(2 * pause, MOST_PAUSE_NANOS);
  }

  private void goOn() {
    handler.tools().bodies().goesOn(giveUp);
    next();
  }

  private void giveUp() {
    if (timer != null) {
      timer.cancel(false);
    }
    end(HandoverEnd.LEFT);
  }

  @Override
  public void answered(PrefillRequest step, byte[] body) {
    end(HandoverEnd.RELEASED);
    step.lease().succeeded();
  }

  /** An error need not be the worker's fault, because the blocks may be gone. */
  @Override
  public void refused(PrefillRequest step, BufferedResponse error) {
    boolean busy = error.busy();
    if (busy) {
      error.restWorker();
    } else {
      refusals++;
      if (BufferedResponse.enginesFault(error.status())) {
        faults.engineFailed(step.lease());
      }
    }
    step.lease().ignored();
    error.release();
    againUnlessTaken(busy);
  }

  @Override
  public void failed(PrefillRequest step, RetryReason reason, ProxyError error) {
    againUnlessTaken(reason == RetryReason.CONNECT);
  }

  /**
   * @param untaken true if the worker certainly did not accept the request
   */
  private void againUnlessTaken(boolean untaken) {
    if (once() && !untaken) {
      end(HandoverEnd.LEFT);
    } else {
      later();
    }
  }

  private void defect(RuntimeException defect) {
    LOG.error("the KV blocks on {} cannot be freed", reserved.pair().prefill().worker(), defect);
    end(HandoverEnd.LEFT);
  }

  private void end(HandoverEnd end) {
    handler.tools().bodies().leave(reserved.body().length());
    reserved.body().release();
    context.listener().handover(end);
  }
}
