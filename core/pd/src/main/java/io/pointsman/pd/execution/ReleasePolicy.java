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
  private final PdHandler course;
  private final KeptBody body;
  private final UnusedPrefill settling;

  /** Created while the request exists, because {@code course} drops its body at the end. */
  ReleasePolicy(SequentialExecution run, PdHandler course) {
    this.run = run;
    this.course = course;
    body = course.body();
    body.retain();
    settling = new UnusedPrefill(course.plane().listener());
  }

  @Override
  public void answered(PrefillRequest leg, byte[] answer) {
    leg.lease().succeeded();
    course.plane().listener().prefill(PrefillEnd.ABORTED);
    PrefillReply reply = null;
    try {
      reply = read(answer);
    } finally {
      if (reply == null) {
        end();
      }
    }
    if (reply != null) {
      run.releaseArrived(reply, body, course.now());
    }
  }

  private @Nullable PrefillReply read(byte[] answer) {
    return course.tools().replies().read(answer, 0, answer.length)
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
  public void refused(PrefillRequest leg, BufferedResponse error) {
    settling.refused(leg, error);
    end();
  }

  @Override
  public void failed(PrefillRequest leg, RetryReason reason, ProxyError error) {
    settling.failed(leg, reason, error);
    end();
  }
}
