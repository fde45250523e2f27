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
   * Makes a capture that is not in use yet, unless it is to the file in use. The contents of an
   * existing file stay until the first line.
   *
   * @throws IOException if the file cannot be written
   */
  synchronized Change prepared(CaptureSettings next) throws IOException {
    boolean other = next.enabled() && !next.file().equals(present.file());
    return new Change(next, other ? opened(next) : null);
  }

  private TraceCapture opened(CaptureSettings next) throws IOException {
    CaptureTally counts = tally;
    if (counts == null) {
      counts = new CaptureTally();
      tally = counts;
      measure.accept(counts);
    }
    return new TraceCapture(next, ticker, counts);
  }

  /** A capture by other settings, before it is in use. */
  final class Change implements Replacement {
    private final CaptureSettings settings;
    private final @Nullable TraceCapture opened;
    private final CaptureSettings settingsBefore = present;
    private final @Nullable TraceCapture before = running;

    private Change(CaptureSettings settings, @Nullable TraceCapture opened) {
      this.settings = settings;
      this.opened = opened;
    }

    /** Captures by the settings from here on. {@link #around} then gives other policies. */
    @Override
    public void apply() {
      put(settings, opened != null || !settings.enabled() ? opened : before);
    }

    /** Captures by the earlier settings again. */
    @Override
    public void undo() {
      put(settingsBefore, before);
    }

    /** Closes the capture that is not in use. */
    @Override
    public void drop() {
      if (opened != null) {
        opened.close();
      }
    }

    /** Ends the earlier capture. The new one writes its requests that are in progress. */
    @Override
    public void finish() {
      if (before != null && (opened != null || !settings.enabled())) {
        before.close(opened);
      }
    }
  }

  private synchronized void put(CaptureSettings settings, @Nullable TraceCapture capture) {
    present = settings;
    running = capture;
    if (capture != null) {
      capture.limit(settings);
    }
  }

  /** The policies with the capture of traffic, if it is on. */
  synchronized StagePolicies around(StagePolicies policies) {
    TraceCapture trace = running;
    return trace == null ? policies : policies.each(setup -> setup.withAnswers(trace));
  }

  @Override
  public synchronized void close() {
    Change end = new Change(CaptureSettings.DEFAULTS, null);
    end.apply();
    end.finish();
  }
}
