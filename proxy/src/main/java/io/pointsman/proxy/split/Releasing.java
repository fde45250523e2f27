package io.pointsman.proxy.split;

import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.split.leg.Settling;
import io.pointsman.proxy.split.leg.SideLeg;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SplitListener.PrefillEnd;
import io.pointsman.request.splice.ReplyReader;
import org.jspecify.annotations.Nullable;

/**
 * Frees the blocks of a prefill whose answer was under way when its client left: cancelling it
 * would free nothing, so its answer is read, and decode is sent after it.
 */
final class Releasing implements SideLeg.Owner {
  private final SequentialRun run;
  private final SplitCourse course;
  private final KeptBody body;
  private final Settling settling;

  /** Made while the request is still there: {@code course} forgets its body after that. */
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

  /** Nothing is freed. */
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
