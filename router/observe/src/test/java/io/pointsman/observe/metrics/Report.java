package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/** A request report with all fields. */
record Report(
    Endpoint endpoint,
    @Nullable String model,
    int status,
    Blame blame,
    boolean streamed,
    boolean clientLeft)
    implements RequestReport {

  static Report served(Endpoint endpoint, int status) {
    return new Report(endpoint, null, status, Blame.NONE, false, false);
  }

  static Report failed(int status, Blame blame) {
    return new Report(Endpoint.CHAT_COMPLETIONS, null, status, blame, false, false);
  }

  Report forModel(String asked) {
    return new Report(endpoint, asked, status, blame, streamed, clientLeft);
  }

  Report asStream() {
    return new Report(endpoint, model, status, blame, true, clientLeft);
  }

  Report afterClientLeft() {
    return new Report(endpoint, model, status, blame, streamed, true);
  }

  @Override
  public String method() {
    return "POST";
  }

  @Override
  public String uri() {
    return "/v1/chat/completions";
  }

  @Override
  public String requestId() {
    return "req-1";
  }

  @Override
  public @Nullable Worker worker() {
    return null;
  }

  @Override
  public int attempts() {
    return 1;
  }

  @Override
  public long nanosToHead() {
    return 20_000_000;
  }

  @Override
  public long nanosToFirstByte() {
    return 30_000_000;
  }

  @Override
  public long nanosToEnd() {
    return 2_000_000_000;
  }

  @Override
  public long bytesIn() {
    return 100;
  }

  @Override
  public long bytesOut() {
    return 1000;
  }

  @Override
  public long chunksOut() {
    return 7;
  }
}
