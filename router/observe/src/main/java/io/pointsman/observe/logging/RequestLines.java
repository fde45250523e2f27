package io.pointsman.observe.logging;

import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.LogSettings.Access;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.telemetry.ClientRequest;
import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.DeferralEnded;
import io.pointsman.proxy.telemetry.RequestEvent.LimitReached;
import io.pointsman.proxy.telemetry.RequestEvent.ModelMissing;
import io.pointsman.proxy.telemetry.RequestEvent.PromptPrefilled;
import io.pointsman.proxy.telemetry.RequestEvent.QueueWaitEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestRetried;
import io.pointsman.proxy.telemetry.RequestEvent.RequestStarted;
import io.pointsman.proxy.telemetry.RequestEvent.RouterAnswered;
import io.pointsman.proxy.telemetry.RequestEvent.SessionEnded;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerAwaited;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerChosen;
import io.pointsman.proxy.telemetry.RequestReport;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lines of the log about requests. All events also go to another listener.
 *
 * <ul>
 *   <li>For each choice of a worker, a line in the form of vLLM's production-stack. Its scripts
 *       read the line. With prefill and decode on two workers, a request has two lines, and those
 *       of the original's orchestrated hand-over.
 *   <li>At the end of each request, or of those with an error, a line with its values.
 *   <li>For each change through the router's own paths, and each refused key, a line for auditors.
 *       Refusals and clients cannot use up the lines of administrators.
 * </ul>
 */
public final class RequestLines extends ForwardingListener {
  private static final Logger LOG = LoggerFactory.getLogger(RequestLines.class);

  /** Maximum number of characters of a session id in a line. */
  private static final int LONGEST_ID = 256;

  /** Nanoseconds of a tenth of a millisecond. */
  private static final long NANOS_PER_TENTH = 100_000;

  /** Maximum number of lines for auditors in a second, of refusals and of clients' changes. */
  static final int MOST_AUDITED = 20;

  private static final int USUAL_CHARS = 384;
  private static final List<String> READING = List.of("GET", "HEAD", "OPTIONS");

  /** Paths that change nothing but leases. */
  private static final List<String> OF_PLANES =
      List.of("/v1/decide", "/v1/leases/", "/internal/route");

  /** Receiver of lines. */
  interface Sink {
    /**
     * Writes a line.
     *
     * @param values named values, in the form of {@link LineValues}
     */
    void write(String message, LogSettings.Format format, String values);
  }

  private final InstantSource clock;
  private volatile LogSettings settings;
  private final Consumer<String> choices;
  private final Sink lines;
  private final AtomicLong good = new AtomicLong();
  private final LineRate refusals = new LineRate(MOST_AUDITED);
  private final LineRate ofClients = new LineRate(MOST_AUDITED);

  /** A listener with the lines of the settings. */
  public static RequestLines around(ProxyListener next, InstantSource clock, LogSettings settings) {
    return new RequestLines(next, clock, settings, LOG::info, RequestLines::write);
  }

  /** Writes the lines of other settings from here on. Any thread. */
  public void use(LogSettings next) {
    settings = next;
  }

  RequestLines(
      ProxyListener next,
      InstantSource clock,
      LogSettings settings,
      Consumer<String> choices,
      Sink lines) {
    super(next);
    this.clock = clock;
    this.settings = settings;
    this.choices = choices;
    this.lines = lines;
  }

  private static void write(String message, LogSettings.Format format, String values) {
    if (!LOG.isInfoEnabled()) {
      return;
    }
    if (LOG instanceof ch.qos.logback.classic.Logger own) {
      own.callAppenders(new ValuesEvent(own, message, format, values));
    } else {
      LOG.info("{}{}", message, values);
    }
  }

  @Override
  protected void read(RequestEvent event) {
    switch (event) {
      case WorkerChosen chosen when settings.requests() -> chosen(chosen);
      case PromptPrefilled(ClientRequest request, long nanos) when settings.requests() ->
          about(
              request,
              String.format(Locale.ROOT, "Prefill completed in %.4fs (TTFT)", nanos / 1e9));
      case RequestEnded(RequestReport report) -> ended(report);
      case RouterAnswered(RequestReport report) -> answered(report);
      case RequestStarted _,
          LimitReached _,
          QueueWaitEnded _,
          DeferralEnded _,
          WorkerAwaited _,
          WorkerChosen _,
          PromptPrefilled _,
          RequestRetried _,
          ModelMissing _,
          SessionEnded _ -> {}
    }
  }

  private void chosen(WorkerChosen choice) {
    Instant now = clock.instant();
    AffinityKey session = choice.session();
    WorkerSpec worker = choice.worker().spec();
    choices.accept(
        String.format(
            Locale.ROOT,
            "Routing request %s with session id %s to %s at %d.%06d, process time = %.4f",
            word(choice.request().id()),
            session == null ? "None" : word(session.value()),
            worker.url(),
            now.getEpochSecond(),
            now.getNano() / 1000,
            choice.nanos() / 1e9));
    if (worker.role() != Role.REGULAR) {
      String stage = worker.role() == Role.PREFILL ? "Prefill" : "Decode";
      about(choice.request(), "%s endpoint: %s".formatted(stage, worker.url()));
    }
  }

  private void about(ClientRequest request, String text) {
    choices.accept("[" + word(request.id()) + "] " + text);
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
  public boolean readsUsage() {
    return settings.access() != Access.OFF || super.readsUsage();
  }

  @Override
  public boolean receivesOwnAnswers() {
    return settings.access() != Access.OFF || settings.audit() || super.receivesOwnAnswers();
  }

  private void ended(RequestReport report) {
    if (settings.requests()) {
      orchestrated(report);
    }
    line(report);
  }

  private void answered(RequestReport report) {
    line(report);
    if (settings.audit() && audits(report)) {
      audit(report);
    }
  }

  private void line(RequestReport report) {
    if (settings.access() != Access.OFF && (bad(report) || sampled())) {
      LogSettings.Format format = settings.format();
      lines.write("request", format, written(report, format).line.toString());
    }
  }

  private static boolean bad(RequestReport report) {
    return report.result().status() >= 400
        || report.result().clientLeft()
        || report.result().reason() != null;
  }

  /** True for an evenly distributed share of the calls. */
  private boolean sampled() {
    if (settings.access() != Access.ALL) {
      return false;
    }
    double share = settings.accessSample();
    long number = good.getAndIncrement();
    return (long) ((number + 1) * share) > (long) (number * share);
  }

  private static boolean audits(RequestReport report) {
    if (report.result().status() == 401 || report.result().status() == 403) {
      return true;
    }
    String path = path(report);
    return !READING.contains(report.request().method())
        && !report.request().method().isEmpty()
        && report.result().reason() == null
        && OF_PLANES.stream().noneMatch(path::startsWith);
  }

  /** Writes the line, unless it is one of too many that a caller without a key can cause. */
  private void audit(RequestReport report) {
    boolean refused = report.result().status() >= 400;
    LineRate rate = refused ? refusals : report.request().admin() ? null : ofClients;
    if (rate == null) {
      audit(report, 0);
      return;
    }
    int missing = rate.take(clock.instant().getEpochSecond());
    if (missing >= 0) {
      audit(report, missing);
    }
  }

  /**
   * @param missing number of lines of this kind that were not written before
   */
  private void audit(RequestReport report, int missing) {
    LogSettings.Format format = settings.format();
    LineValues values = written(report, format);
    values.add("listener", report.request().admin() ? "admin" : "clients");
    if (missing > 0) {
      values.add("not_logged", missing);
    }
    lines.write("audit", format, values.line.toString());
  }

  /** The path without the query string, which may contain a key. */
  private static String path(RequestReport report) {
    int query = report.request().uri().indexOf('?');
    return query < 0 ? report.request().uri() : report.request().uri().substring(0, query);
  }

  private static LineValues written(RequestReport report, LogSettings.Format format) {
    LineValues values = LineValues.to(new StringBuilder(USUAL_CHARS), format);
    ClientRequest request = report.request();
    values.add("client", request.client());
    String identity = request.identity().name();
    if (!identity.equals(request.client())) {
      values.add("identity", identity);
    }
    values.add("method", request.method());
    values.add("path", path(report));
    values.add("status", report.result().status());
    values.add("model", report.model());
    Worker worker = report.worker();
    if (worker != null) {
      values.add("worker", worker.id());
    }
    if (report.attempts() > 1) {
      values.add("attempts", report.attempts());
    }
    if (report.result().streamed()) {
      values.add("stream", true);
    }
    values.add("reason", report.result().clientLeft() ? "client_left" : report.result().reason());
    values.add("bytes_in", report.traffic().bytesIn());
    values.add("bytes_out", report.traffic().bytesOut());
    count(values, "prompt_tokens", report.traffic().usage().promptTokens());
    count(values, "cached_tokens", report.traffic().usage().cachedTokens());
    count(values, "completion_tokens", report.traffic().usage().completionTokens());
    time(values, "head_ms", report.times().head());
    time(values, "first_byte_ms", report.times().firstByte());
    time(values, "total_ms", report.times().end());
    values.add("request", request.id());
    return values;
  }

  private static void count(LineValues values, String name, int count) {
    if (count >= 0) {
      values.add(name, count);
    }
  }

  private static void time(LineValues values, String name, long nanos) {
    if (nanos != RequestReport.NEVER) {
      values.addTenths(name, (Math.max(0, nanos) + NANOS_PER_TENTH / 2) / NANOS_PER_TENTH);
    }
  }

  private void orchestrated(RequestReport report) {
    Worker worker = report.worker();
    boolean decoded = worker != null && worker.spec().role() == Role.DECODE;
    if (decoded && report.result().status() < 400) {
      about(
          report.request(),
          String.format(
              Locale.ROOT,
              "Orchestrated %srequest completed, total time = %.4fs",
              report.result().streamed() ? "streaming " : "",
              report.times().end() / 1e9));
    }
  }
}
