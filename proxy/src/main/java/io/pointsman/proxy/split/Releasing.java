package io.pointsman.proxy.split;

import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.Leg;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.disagg.plan.Terms;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.split.SplitListener.PrefillEnd;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.splice.ReplyReader;
import java.util.ArrayList;
import java.util.List;

/**
 * Frees the blocks of a prefill whose answer was under way when its client left: cancelling it
 * would free nothing, so its answer is read, and decode is sent after it.
 */
final class Releasing implements SideLeg.Owner {
  private final SequentialRun run;
  private final SplitCourse course;
  private final byte[] body;

  /** Made while the request is still there: {@code course} forgets its body after that. */
  Releasing(SequentialRun run, SplitCourse course) {
    this.run = run;
    this.course = course;
    body = course.body();
  }

  /** Sends a decode request that only fetches the blocks; its answer is dropped. */
  static void send(SplitCourse course, byte[] body, Leg leg, Terms terms, Lease lease) {
    List<BodyEdit> edits = new ArrayList<>(leg.edits());
    edits.addAll(terms.releasing());
    SideLeg release =
        course.side(
            body,
            leg,
            edits,
            lease,
            course.plane().stages().release(),
            new Settling(SplitListener.NONE));
    release.start();
  }

  @Override
  public void answered(SideLeg leg, byte[] answer) {
    leg.lease().succeeded();
    course.plane().listener().prefill(PrefillEnd.ABORTED);
    PrefillReply reply = null;
    try {
      reply =
          course.tools().replies().read(answer, 0, answer.length)
                  instanceof ReplyReader.Result.Read(PrefillReply read)
              ? read
              : null;
    } finally {
      if (reply == null) {
        run.decodeLease().ignored();
      }
    }
    if (reply != null) {
      run.release(run.decodeLease(), reply, body);
    }
  }

  @Override
  public void refused(SideLeg leg, HeldAnswer error) {
    error.release();
    leg.lease().failed(Failure.ERROR);
    run.decodeLease().ignored();
  }

  @Override
  public void failed(SideLeg leg, RetryReason reason, ProxyError error) {
    run.decodeLease().ignored();
  }
}
