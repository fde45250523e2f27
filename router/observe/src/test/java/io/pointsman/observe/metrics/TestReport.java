package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/** A request report with all fields. */
record TestReport(
    Endpoint endpoint,
    @Nullable String model,
    int status,
    Blame blame,
    boolean streamed,
    boolean clientLeft,
    ClientIdentity identity,
    @Nullable Worker worker,
    int attempts,
    Usage usage)
    implements RequestReport {

  private TestReport(Endpoint endpoint, int status, Blame blame) {
    this(
        endpoint,
        null,
        status,
        blame,
        false,
        false,
        ClientIdentity.UNKNOWN,
        null,
        1,
        Usage.UNKNOWN);
  }

  static TestReport served(Endpoint endpoint, int status) {
    return new TestReport(endpoint, status, Blame.NONE);
  }

  static TestReport failed(int status, Blame blame) {
    return new TestReport(Endpoint.CHAT_COMPLETIONS, status, blame);
  }

  TestReport forModel(String asked) {
    return new TestReport(
        endpoint, asked, status, blame, streamed, clientLeft, identity, worker, attempts, usage);
  }

  TestReport of(ClientIdentity client) {
    return new TestReport(
        endpoint, model, status, blame, streamed, clientLeft, client, worker, attempts, usage);
  }

  TestReport asStream() {
    return new TestReport(
        endpoint, model, status, blame, true, clientLeft, identity, worker, attempts, usage);
  }

  TestReport afterClientLeft() {
    return new TestReport(
        endpoint, model, status, blame, streamed, true, identity, worker, attempts, usage);
  }

  TestReport by(Worker server, int tries, Usage tokens) {
    return new TestReport(
        endpoint, model, status, blame, streamed, clientLeft, identity, server, tries, tokens);
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
