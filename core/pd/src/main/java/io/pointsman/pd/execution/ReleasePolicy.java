package io.pointsman.pd.execution;

import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.execution.step.PrefillRequest;
import io.pointsman.pd.execution.step.UnusedPrefill;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.telemetry.RetryReason;
import org.jspecify.annotations.Nullable;

/**
 * Release of a prefill's blocks if the client left during prefill's answer. A cancellation would
 * free nothing. The answer is therefore read, and a short decode request follows.
 */
final class ReleasePolicy implements PrefillRequest.Owner {
  private final SequentialExecution run;
  private final PdHandler handler;
  private final KeptBody body;
  private final UnusedPrefill settling;

  /** Created while the request exists, because {@code handler} drops its body at the end. */
  ReleasePolicy(SequentialExecution run, PdHandler handler) {
    this.run = run;
    this.handler = handler;
    body = handler.body();
    body.retain();
    settling = new UnusedPrefill(handler.context().listener());
  }

  @Override
  public void answered(PrefillRequest step, byte[] answer) {
    step.lease().succeeded();
    handler.context().listener().prefill(PrefillEnd.ABORTED);
    PrefillReply reply = null;
    try {
      reply = read(answer);
    } finally {
      if (reply == null) {
        end();
      }
    }
    if (reply != null) {
      run.releaseArrived(reply, body, handler.now());
    }
  }

  private @Nullable PrefillReply read(byte[] answer) {
    return handler.tools().replies().read(answer, 0, answer.length)
            instanceof ReplyReader.Result.Read(PrefillReply read)
        ? read
        : null;
  }

  /** Ends without a release. */
  private void end() {
    body.release();
    run.nothingLeft();
  }

  @Override
  public void refused(PrefillRequest step, BufferedResponse error) {
    settling.refused(step, error);
    end();
  }

  @Override
  public void failed(PrefillRequest step, RetryReason reason, ProxyError error) {
    settling.failed(step, reason, error);
    end();
  }
}
