package io.pointsman.server.wiring;

import io.pointsman.config.settings.CaptureSettings;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.env.Ticker;
import io.pointsman.observe.capture.CaptureTally;
import io.pointsman.observe.capture.TraceCapture;
import java.io.IOException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The capture of traffic, which may begin, change and end at run time. A router without it loads
 * none of its classes. Thread-safe.
 */
final class Captures implements AutoCloseable {
  private final Ticker ticker;

  /** The settings in use. Guarded by this, like the following fields. */
  private CaptureSettings present = CaptureSettings.DEFAULTS;

  /** Null while nothing is captured. */
  private @Nullable TraceCapture running;

  /** The counts of all captures; null before the first. */
  private @Nullable CaptureTally tally;

  private Consumer<CaptureTally> measure = _ -> {};

  Captures(Ticker ticker) {
    this.ticker = ticker;
  }

  /** Sets the receiver of the metrics, which gets them with the first capture. */
  synchronized void measure(Consumer<CaptureTally> receiver) {
    measure = receiver;
    CaptureTally counts = tally;
    if (counts != null) {
      receiver.accept(counts);
    }
  }

  /**
   * Makes a capture that is not in use yet; null if it is to the file in use, or if nothing is
   * captured. The contents of an existing file stay until the first line.
   *
   * @throws IOException if the file cannot be written
   */
  synchronized @Nullable TraceCapture prepared(CaptureSettings next) throws IOException {
    if (!next.enabled() || next.file().equals(present.file())) {
      return null;
    }
    CaptureTally counts = tally;
    if (counts == null) {
      counts = new CaptureTally();
      tally = counts;
      measure.accept(counts);
    }
    return new TraceCapture(next, ticker, counts);
  }

  /**
   * Captures by these settings from here on. {@link #around} then gives other policies.
   *
   * @param opened from {@link #prepared}
   */
  void use(CaptureSettings next, @Nullable TraceCapture opened) {
    TraceCapture ended = null;
    synchronized (this) {
      TraceCapture before = running;
      present = next;
      if (opened != null || !next.enabled()) {
        running = opened;
        ended = before;
      } else if (before != null) {
        before.limit(next);
      }
    }
    if (ended != null) {
      ended.close(opened);
    }
  }

  /** The policies with the capture of traffic, if it is on. */
  synchronized StagePolicies around(StagePolicies policies) {
    TraceCapture trace = running;
    return trace == null ? policies : policies.each(setup -> setup.withAnswers(trace));
  }

  @Override
  public void close() {
    use(CaptureSettings.DEFAULTS, null);
  }
}
