package io.pointsman.pd.execution;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.execution.answer.SplitTools;
import io.pointsman.pd.execution.step.PrefillRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.telemetry.SideTrace.Purpose;
import io.pointsman.proxy.telemetry.TraceContext;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.proxy.wire.SentKey;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.Splice;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Builder of the requests of a plan. It combines the client's head and body with a step's headers
 * and edits. Usable after the client's request has ended. Belongs to the event loop.
 */
final class PdStepWriter {
  /** Size in bytes of the head beyond the client's headers. */
  private static final int MORE_HEAD_BYTES = 512;

  private final LoopState state;
  private final PdContext context;
  private final SplitTools tools;
  private final ClientExchange served;

  PdStepWriter(LoopState state, PdContext context, SplitTools tools, ClientExchange served) {
    this.state = state;
    this.context = context;
    this.tools = tools;
    this.served = served;
  }

  /** The client's body {@code original} with {@code edits}. */
  EditedBody edited(KeptBody original, List<BodyEdit> edits) {
    Splice splice = tools.editor().edit(state.scratch(original), 0, original.length(), edits);
    if (splice == null) {
      throw new IllegalStateException("a body that was read cannot be edited");
    }
    return new EditedBody(original, splice);
  }

  /**
   * A request to a worker; the router reads its answer.
   *
   * @param original the client's body
   * @param edits edits of the body
   * @param lease lease of the worker; ownership passes to this method
   * @param faults failures of the client's request
   * @param timeout maximum time from its start to the end of its answer; zero for none
   */
  PrefillRequest side(
      KeptBody original,
      PdStep step,
      List<BodyEdit> edits,
      Lease lease,
      RequestFaults faults,
      Duration timeout,
      PrefillRequest.Owner owner) {
    EditedBody changed = edited(original, edits);
    Purpose purpose =
        lease.worker().spec().role() == Role.DECODE ? Purpose.RELEASE : Purpose.PREFILL;
    SideTrace trace = served.report().sideTrace(lease.worker(), purpose, state.now());
    byte[] head = head(step, lease, changed.length(), trace == null ? null : trace.context());
    SentKey key = heads(lease).key(served.request().head());
    PrefillRequest.Message message =
        new PrefillRequest.Message(head, changed, timeout, context.stages().maxReplyBytes(), key);
    return new PrefillRequest(state, lease, faults, message, trace, owner);
  }

  private RequestHeadWriter heads(Lease lease) {
    return state.pools().to(lease.worker()).heads();
  }

  private byte[] head(
      PdStep step, Lease lease, int bodyLength, @Nullable TraceContext traceContext) {
    ByteBuf head = state.allocator().buffer(served.request().head().length() + MORE_HEAD_BYTES);
    try {
      heads(lease)
          .write(
              head,
              served.request().head(),
              served.request().id(),
              bodyLength,
              traceContext,
              new HeadChanges(step.headers(), true));
      return ByteBufUtil.getBytes(head);
    } finally {
      head.release();
    }
  }
}
