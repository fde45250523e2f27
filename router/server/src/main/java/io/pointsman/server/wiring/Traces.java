package io.pointsman.server.wiring;

import io.pointsman.config.settings.TracingSettings;
import io.pointsman.engine.env.Ticker;
import io.pointsman.observe.tracing.ActiveTracing;
import io.pointsman.observe.tracing.SpanTally;
import io.pointsman.observe.tracing.Tracing;
import io.pointsman.proxy.telemetry.RequestTrace;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestHeaders;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Traces of requests, which may begin, change and end at run time. A request ends in the trace with
 * which it began: an earlier exporter lasts until then. A router without traces loads none of their
 * classes. Thread-safe.
 */
final class Traces implements RequestTracer, AutoCloseable {
  /** Maximum number of earlier exporters; a further one ends the oldest. */
  private static final int MOST_EARLIER = 4;

  private final Supplier<String> policy;
  private final String instance;
  private final String version;
  private final Ticker ticker;
  private final Consumer<SpanTally> measure;

  /** Null while nothing is traced. */
  private volatile @Nullable ActiveTracing running;

  /** The settings in use. Guarded by this, like the following fields. */
  private TracingSettings present = TracingSettings.DEFAULTS;

  private final Deque<ActiveTracing> earlier = new ArrayDeque<>();

  /** Null before the first trace. */
  private @Nullable SpanTally tally;

  /**
   * @param policy name of the policy; may change
   * @param instance distinguishes this router from others with the same service name
   * @param version version of the program
   * @param measure receives the counts before the first trace
   */
  Traces(
      Supplier<String> policy,
      String instance,
      String version,
      Ticker ticker,
      Consumer<SpanTally> measure) {
    this.policy = policy;
    this.instance = instance;
    this.version = version;
    this.ticker = ticker;
    this.measure = measure;
  }

  @Override
  public @Nullable RequestTrace begin(
      Endpoint endpoint, String method, String uri, RequestHeaders headers) {
    ActiveTracing now = running;
    return now == null ? null : now.begin(endpoint, method, uri, headers);
  }

  /** Traces by other settings, before they are in use. */
  final class Change implements Replacement {
    private final TracingSettings settings;
    private final TracingSettings settingsBefore = present;
    private final @Nullable ActiveTracing before = running;
    private final boolean replaced;
    private final @Nullable ActiveTracing opened;

    private Change(TracingSettings settings) {
      this.settings = settings;
      replaced = !settings.exportsAs(settingsBefore);
      opened = replaced && settings.enabled() ? opened(settings) : null;
    }

    /** Traces later requests by the settings. */
    @Override
    public void apply() {
      put(settings, replaced ? opened : before);
    }

    /** Traces by the earlier settings again. */
    @Override
    public void undo() {
      put(settingsBefore, before);
    }

    /** Ends the exporter that is not in use. */
    @Override
    public void drop() {
      if (opened != null) {
        opened.close();
      }
    }

    /** The earlier exporter ends with its last request. */
    @Override
    public void finish() {
      if (replaced && before != null) {
        retire(before);
      }
    }
  }

  private synchronized void put(TracingSettings settings, @Nullable ActiveTracing next) {
    present = settings;
    running = next;
    if (next != null) {
      next.use(settings);
    }
  }

  /** Prepares a change, and opens another exporter if the settings need it. */
  synchronized Change prepared(TracingSettings next) {
    return new Change(next);
  }

  /** Only this method loads the classes of OpenTelemetry. */
  private ActiveTracing opened(TracingSettings settings) {
    SpanTally counts = tally;
    if (counts == null) {
      counts = new SpanTally();
      tally = counts;
      measure.accept(counts);
    }
    return Tracing.start(settings, counts, policy, instance, version, ticker);
  }

  private void retire(ActiveTracing before) {
    before.retire();
    ActiveTracing oldest = null;
    synchronized (this) {
      earlier.removeIf(ActiveTracing::ended);
      earlier.add(before);
      if (earlier.size() > MOST_EARLIER) {
        oldest = earlier.poll();
      }
    }
    if (oldest != null) {
      oldest.close();
    }
  }

  /** Exports the queued spans, for at most 3 s for each exporter. */
  @Override
  public synchronized void close() {
    ActiveTracing last = running;
    running = null;
    if (last != null) {
      last.close();
    }
    earlier.forEach(ActiveTracing::close);
    earlier.clear();
  }
}
