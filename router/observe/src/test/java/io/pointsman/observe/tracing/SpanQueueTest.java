package io.pointsman.observe.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.pointsman.testkit.Await;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class SpanQueueTest {
  private final SpanTally tally = new SpanTally();

  private record Exporter(Function<Collection<SpanData>, CompletableResultCode> to)
      implements SpanExporter {
    @Override
    public CompletableResultCode export(Collection<SpanData> spans) {
      return to.apply(spans);
    }

    @Override
    public CompletableResultCode flush() {
      return CompletableResultCode.ofSuccess();
    }

    @Override
    public CompletableResultCode shutdown() {
      return CompletableResultCode.ofSuccess();
    }
  }

  private SpanQueue queue(
      int capacity, Duration flush, Function<Collection<SpanData>, CompletableResultCode> to) {
    return new SpanQueue(new Exporter(to), tally, System::nanoTime, capacity, flush);
  }

  private static void end(SpanQueue queue, int spans) {
    Tracer tracer = SdkTracerProvider.builder().addSpanProcessor(queue).build().get("test");
    for (int i = 0; i < spans; i++) {
      tracer.spanBuilder("span").startSpan().end();
    }
  }

  @Test
  void excessSpansAreDroppedAndCountedWhileTheCollectorIsBusy() {
    CountDownLatch asked = new CountDownLatch(1);
    CompletableResultCode busy = new CompletableResultCode();
    SpanQueue queue =
        queue(
            10,
            Duration.ofSeconds(30),
            spans -> {
              asked.countDown();
              return busy;
            });
    end(queue, 1);
    Await.until("the collector is asked", () -> asked.getCount() == 0);
    end(queue, 17);
    assertThat(tally.dropped()).isEqualTo(7);
    busy.succeed();
    queue.close();
    assertThat(tally.exported()).isEqualTo(11);
    assertThat(tally.failed()).isZero();
  }

  @Test
  void failedSpansAreCountedAndTheNextExportIsTried() {
    AtomicInteger calls = new AtomicInteger();
    SpanQueue queue =
        queue(
            100,
            Duration.ofSeconds(30),
            spans ->
                calls.getAndIncrement() == 0
                    ? CompletableResultCode.ofFailure()
                    : CompletableResultCode.ofSuccess());
    end(queue, 3);
    Await.until("the first spans failed", () -> tally.failed() > 0);
    end(queue, 2);
    queue.close();
    assertThat(tally.failed() + tally.exported()).isEqualTo(5);
    assertThat(tally.exported()).isGreaterThan(0);
  }

  @Test
  void anExporterThatFailsIsTriedAgain() {
    AtomicInteger calls = new AtomicInteger();
    SpanQueue queue =
        queue(
            100,
            Duration.ofSeconds(30),
            spans -> {
              if (calls.getAndIncrement() == 0) {
                throw new IllegalStateException("planted");
              }
              return CompletableResultCode.ofSuccess();
            });
    end(queue, 3);
    Await.until("the first spans failed", () -> tally.failed() > 0);
    end(queue, 2);
    queue.close();
    assertThat(tally.failed() + tally.exported()).isEqualTo(5);
    assertThat(tally.exported()).isGreaterThan(0);
  }

  @Test
  void closingExportsTheQueuedSpans() {
    AtomicInteger taken = new AtomicInteger();
    SpanQueue queue =
        queue(
            5000,
            Duration.ofSeconds(30),
            spans -> {
              taken.addAndGet(spans.size());
              return CompletableResultCode.ofSuccess();
            });
    end(queue, 2000);
    queue.close();
    assertThat(taken.get()).isEqualTo(2000);
    assertThat(tally.exported()).isEqualTo(2000);
  }

  @Test
  void closingWaitsAtMostItsLimit() {
    SpanQueue queue = queue(5000, Duration.ofMillis(50), spans -> new CompletableResultCode());
    end(queue, 2000);
    queue.close();
    assertThat(tally.exported()).isZero();
  }

  @Test
  void aRetiringQueueEndsAfterTheLastOpenSpan() {
    SpanQueue queue = queue(100, Duration.ofSeconds(30), _ -> CompletableResultCode.ofSuccess());
    try (SdkTracerProvider provider = SdkTracerProvider.builder().addSpanProcessor(queue).build()) {
      Tracer tracer = provider.get("test");
      Span open = tracer.spanBuilder("open").startSpan();
      queue.retire();
      tracer.spanBuilder("other").startSpan().end();
      Await.until("the other span is exported", () -> tally.exported() == 1);
      assertThat(queue.ended()).isFalse();

      open.end();

      Await.until("the queue ends", queue::ended);
      assertThat(tally.exported()).isEqualTo(2);
      tracer.spanBuilder("late").startSpan().end();
      assertThat(tally.dropped()).isEqualTo(1);
    }
  }
}
