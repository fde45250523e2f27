package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ClientRequest;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestReport.ReportedResult;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTimes;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTraffic;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/** The values of a request report. */
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
    Usage usage) {

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

  /** The event with the report. */
  RequestEnded ended() {
    return new RequestEnded(
        new RequestReport(
            new ClientRequest(
                endpoint, "POST", "/v1/chat/completions", "req-1", identity, "10.1.2.3", false),
            model,
            worker,
            attempts,
            new ReportedResult(status, blame, null, streamed, clientLeft),
            new ReportedTimes(20_000_000, 30_000_000, 2_000_000_000),
            new ReportedTraffic(100, 1000, 7, usage)));
  }
}
