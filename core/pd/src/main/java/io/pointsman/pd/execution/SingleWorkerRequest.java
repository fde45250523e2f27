package io.pointsman.pd.execution;

import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.handler.BodyRewrite;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import java.time.Duration;
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
  public Duration firstByte(Duration usual) {
    return usual;
  }

  @Override
  public boolean againWhereItMayHaveBegun(boolean usual) {
    return usual;
  }

  @Override
  public boolean holdsHead() {
    return false;
  }

  @Override
  public void sent() {}

  @Override
  public void written() {}

  @Override
  public void reached() {
    onReached.run();
  }

  @Override
  public void failed(RetryReason reason) {}

  @Override
  public @Nullable BodyRewrite answered(ResponseHead head) {
    return null;
  }
}
