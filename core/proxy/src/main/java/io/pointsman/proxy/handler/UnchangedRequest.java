package io.pointsman.proxy.handler;

import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.ResponseHead;

/** The client's request, with the answer as the worker sends it. It has no state. */
public final class UnchangedRequest implements UpstreamRequest {
  public static final UnchangedRequest INSTANCE = new UnchangedRequest();

  private UnchangedRequest() {}

  @Override
  public Message message() {
    return Message.UNCHANGED;
  }

  @Override
  public WaitRules rules() {
    return WaitRules.USUAL;
  }

  @Override
  public void reached(Step step) {}

  @Override
  public void failed(RetryReason reason) {}

  @Override
  public AnswerChanges answered(ResponseHead head) {
    return AnswerChanges.NONE;
  }
}
