package io.pointsman.observe.logging;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.Endpoint;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * Logs each choice of a worker as a line in the form of vLLM's production-stack. Its scripts read
 * the line. With prefill and decode on two workers, a request has two lines, and those of the
 * original's orchestrated hand-over. All events also go to another listener.
 */
public final class RequestLines implements ProxyListener {
  /** Maximum number of characters of a session id in a line. */
  private static final int LONGEST_ID = 256;

  private final ProxyListener next;
  private final InstantSource clock;
  private final Consumer<String> lines;

  public RequestLines(ProxyListener next, InstantSource clock) {
    this(next, clock, LoggerFactory.getLogger(RequestLines.class)::info);
  }

  RequestLines(ProxyListener next, InstantSource clock, Consumer<String> lines) {
    this.next = next;
    this.clock = clock;
    this.lines = lines;
  }

  @Override
  public void chosen(
      RequestReport report, @Nullable AffinityKey session, Worker worker, long nanos) {
    Instant now = clock.instant();
    lines.accept(
        String.format(
            Locale.ROOT,
            "Routing request %s with session id %s to %s at %d.%06d, process time = %.4f",
            word(report.requestId()),
            session == null ? "None" : word(session.value()),
            worker.spec().url(),
            now.getEpochSecond(),
            now.getNano() / 1000,
            nanos / 1e9));
    Role role = worker.spec().role();
    if (role != Role.REGULAR) {
      String stage = role == Role.PREFILL ? "Prefill" : "Decode";
      about(report, "%s endpoint: %s".formatted(stage, worker.spec().url()));
    }
    next.chosen(report, session, worker, nanos);
  }

  @Override
  public void prefilled(RequestReport report, long nanos) {
    about(report, String.format(Locale.ROOT, "Prefill completed in %.4fs (TTFT)", nanos / 1e9));
    next.prefilled(report, nanos);
  }

  private void about(RequestReport report, String text) {
    lines.accept("[" + word(report.requestId()) + "] " + text);
  }

  /** The text without spaces and control characters, because a client chooses it. */
  private static String word(String text) {
    StringBuilder word = new StringBuilder();
    text.codePoints()
        .limit(LONGEST_ID)
        .forEach(
            c ->
                word.appendCodePoint(
                    Character.isWhitespace(c) || Character.isISOControl(c) ? '_' : c));
    return word.toString();
  }

  @Override
  public void sessionEnded(String session) {
    next.sessionEnded(session);
  }

  @Override
  public void started(Endpoint endpoint) {
    next.started(endpoint);
  }

  @Override
  public void retried(Endpoint endpoint, RetryReason reason) {
    next.retried(endpoint, reason);
  }

  @Override
  public void waited(long nanos, boolean admitted) {
    next.waited(nanos, admitted);
  }

  @Override
  public void heldBack(long nanos, boolean decided) {
    next.heldBack(nanos, decided);
  }

  @Override
  public void awaitsWorker(@Nullable String model, boolean begins) {
    next.awaitsWorker(model, begins);
  }

  @Override
  public void ended(RequestReport report) {
    Worker worker = report.worker();
    boolean decoded = worker != null && worker.spec().role() == Role.DECODE;
    if (decoded && report.status() < 400) {
      about(
          report,
          String.format(
              Locale.ROOT,
              "Orchestrated %srequest completed, total time = %.4fs",
              report.streamed() ? "streaming " : "",
              report.nanosToEnd() / 1e9));
    }
    next.ended(report);
  }
}
