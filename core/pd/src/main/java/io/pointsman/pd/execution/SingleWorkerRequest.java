package io.pointsman.pd.execution;

import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import org.jspecify.annotations.Nullable;

/**
 * The client's request, served completely by one worker.
 *
 * @param body body in place of the client's; null for the client's
 * @param head changes to the client's headers
 * @param lines header lines for the client's answer
 * @param onReached called when the client gets the first bytes of the answer
 */
record SingleWorkerRequest(
    @Nullable EditedBody body, HeadChanges head, String lines, Runnable onReached)
    implements UpstreamRequest {
  @Override
  public Message message() {
    return new Message(body, head, false);
  }

  @Override
  public WaitRules rules() {
    return WaitRules.USUAL;
  }

  @Override
  public void reached(Step step) {
    if (step == Step.REACHED) {
      onReached.run();
    }
  }

  @Override
  public void failed(RetryReason reason) {}

  @Override
  public AnswerChanges answered(ResponseHead response) {
    return new AnswerChanges(lines, null);
  }
}
