package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.handler.ServedAnswer;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.reply.StageErrors;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestEvent.SessionEnded;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.wire.RequestHead;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The end of an exchange: the last bytes for the client on each path, the report, and the release
 * of everything. Only its first end has an effect. Belongs to the client's event loop.
 */
final class ExchangeEnd {
  private static final Logger LOG = LoggerFactory.getLogger(ExchangeEnd.class);

  private final ExchangeParts parts;
  private final Upload upload;
  private final Intake intake;
  private final AdmissionPermit permit;
  private final Consumer<ServedAnswer> release;
  private final ClientConnection client;
  private final RequestHead head;
  private final RequestBody body;
  private final ExchangeReport report;
  private ServedAnswer answer = ServedAnswer.NONE;
  private boolean ended;

  /**
   * @param release releases the attempts and the strategy; called once, before the report, with the
   *     complete answer of a worker
   */
  ExchangeEnd(
      ExchangeParts parts,
      Upload upload,
      Intake intake,
      AdmissionPermit permit,
      Consumer<ServedAnswer> release) {
    this.parts = parts;
    this.upload = upload;
    this.intake = intake;
    this.permit = permit;
    this.release = release;
    client = parts.client();
    head = parts.head();
    body = parts.body();
    report = parts.report();
  }

  /** Ends the request with an error of the router. */
  void reply(ProxyError error) {
    reply(error, Rejections.reply(error));
  }

  /** Ends the request with an error of the router in a form of its own. */
  void reply(ProxyError error, Reply reply) {
    report.fails(error);
    reply(error.blame(), reply);
  }

  /** Ends the request with an answer of the router. */
  void reply(Blame whose, Reply reply) {
    boolean keep = client.replies().mayKeep(head, body.complete());
    ByteBuf bytes = client.replies().render(head, report.requestId(), reply, keep);
    report.sent(bytes.readableBytes());
    close(reply.status(), whose);
    client.write(bytes);
    client.finished(keep);
  }

  /** Ends the request with the error of its last attempt. */
  void replyFailure(ProxyError failure) {
    Worker last = report.worker();
    if (parts.server().live().headers().stageErrors()
        && last != null
        && failure.blame() == Blame.UPSTREAM
        && StageErrors.apply(last.spec().role())) {
      reply(failure, StageErrors.of(last.spec().role(), failure));
    } else {
      reply(failure);
    }
  }

  /** Ends the request with a complete answer of a worker. */
  void answered(int status, Relay relay) {
    answer = new ServedAnswer(status, report.worker());
    report.sent(relay.bytesOut());
    close(status, report.blame());
    client.finished(!relay.closesAfter() && body.complete());
  }

  /**
   * Ends the request with a worker's buffered error.
   *
   * @param restSeconds value of {@code Retry-After} in seconds; 0 for the worker's own
   */
  void pass(BufferedResponse error, long restSeconds) {
    body.release();
    answered(error.status(), parts.answers().pass(error, body.complete(), restSeconds));
  }

  /**
   * Ends an incomplete answer. If no byte has reached the client, it gets an error of the router.
   * Otherwise it gets an error event or a broken connection.
   */
  void brokenOff(Relay relay, ProxyError error) {
    if (relay.bytesOut() == 0) {
      relay.release();
      report.unanswered();
      reply(error);
      return;
    }
    report.fails(error);
    boolean proper = relay.endWithError(error);
    relay.release();
    report.sent(relay.bytesOut());
    close(report.status(), error.blame());
    if (proper) {
      client.finished(!relay.closesAfter() && body.complete());
    } else {
      client.breakOff(relay.breakNeedsReset());
    }
  }

  /** Logs an unexpected exception. */
  void log(String what, Throwable defect) {
    LOG.error(
        "{} {} {}, request {}",
        LogText.of(head.method()),
        LogText.of(head.path()),
        what,
        report.requestId(),
        defect);
  }

  /** Ends the request once, on every path, and releases everything. */
  void close(int code, Blame whose) {
    if (ended) {
      return;
    }
    ended = true;
    body.release();
    releaseAttempts();
    RequestReport result = report.ended(code, whose, upload.received(), parts.state().now());
    try {
      report.endTrace(result);
    } finally {
      permit.leave(report.promptTokens(intake.promptTokens()) + report.outputTokens());
      ServerContext server = parts.server();
      intake.quota().end(report, server.limiter().responses(), server.ticker().nanos());
      parts.state().count(-1);
      parts.server().listener().on(new RequestEnded(result));
    }
    String session = report.endedSession();
    if (session != null) {
      parts.server().listener().on(new SessionEnded(session));
    }
  }

  /** An exception here must not prevent the answer to the client. */
  private void releaseAttempts() {
    try {
      release.accept(answer);
    } catch (RuntimeException | Error e) {
      log("could not be ended cleanly", e);
    }
  }
}
