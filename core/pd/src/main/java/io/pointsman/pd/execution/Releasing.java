package io.pointsman.pd.execution;

import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.pd.execution.step.Settling;
import io.pointsman.pd.execution.step.SideLeg;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.pd.body.ReplyReader;
import org.jspecify.annotations.Nullable;

/**
 * Release of a prefill's blocks if the client left during prefill's answer. A cancellation would
 * free nothing. The answer is therefore read, and a short decode request follows.
 */
final class Releasing implements SideLeg.Owner {
  private final SequentialRun run;
  private final SplitCourse course;
  private final KeptBody body;
  private final Settling settling;

  /** Created while the request exists, because {@code course} drops its body at the end. */
  Releasing(SequentialRun run, SplitCourse course) {
    this.run = run;
    this.course = course;
    body = course.body();
    body.retain();
    settling = new Settling(course.plane().listener());
  }

  @Override
  public void answered(SideLeg leg, byte[] answer) {
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
  public void refused(SideLeg leg, HeldAnswer error) {
    settling.refused(leg, error);
    end();
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    settling.failed(leg, reason, error);
    end();
  }
}
