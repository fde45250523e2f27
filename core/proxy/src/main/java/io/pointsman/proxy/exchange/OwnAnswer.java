package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.wire.ClientAddress;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * Report about a request that the router answered itself.
 *
 * @param admin true if it came to the admin listener
 */
record OwnAnswer(
    RequestHead head,
    boolean admin,
    String requestId,
    int status,
    @Nullable String reason,
    long nanosToEnd,
    long bytesOut)
    implements RequestReport {

  @Override
  public Endpoint endpoint() {
    return Endpoint.TRANSPARENT;
  }

  @Override
  public String method() {
    return head.method();
  }

  @Override
  public String uri() {
    return head.uri();
  }

  @Override
  public ClientIdentity identity() {
    return head.identity();
  }

  @Override
  public String client() {
    ClientAddress client = head.client();
    return client == null ? RequestReport.super.client() : client.text();
  }

  @Override
  public @Nullable String model() {
    return null;
  }

  @Override
  public Blame blame() {
    return status < 400 ? Blame.NONE : status < 500 ? Blame.CLIENT : Blame.ROUTER;
  }

  @Override
  public @Nullable Worker worker() {
    return null;
  }

  @Override
  public int attempts() {
    return 0;
  }

  @Override
  public boolean streamed() {
    return false;
  }

  @Override
  public boolean clientLeft() {
    return false;
  }

  @Override
  public long nanosToHead() {
    return NEVER;
  }

  @Override
  public long nanosToFirstByte() {
    return NEVER;
  }

  @Override
  public long bytesIn() {
    return Math.max(0, head.contentLength());
  }

  @Override
  public long chunksOut() {
    return 0;
  }
}
