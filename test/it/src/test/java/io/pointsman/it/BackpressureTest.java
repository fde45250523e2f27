package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer.Head;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Engines that send faster than clients read: the router stops reading instead of buffering. The
 * router is a separate process, so its memory can be measured.
 */
@Tag("full")
final class BackpressureTest {
  private static final int READERS = Scale.of(40, 200);
  private static final int WARM_UP = 20;
  private static final int STREAM_BYTES = 20 << 20;
  private static final long SLOW_MS = Scale.of(2_000, 15_000);
  private static final long MOST_GROWTH_KB = 100 << 10;
  private static final String REQUEST =
      "{\"model\":\"sim\",\"stream\":true,\"prompt\":\"everything\"}";

  @Test
  void slowReadersOfFastStreamsCostNoMemory() throws Exception {
    byte[] event = event();
    try (RawEngine engine = RawEngine.start("sim", (request, out) -> stream(event, out));
        RouterProcess router = RouterProcess.serve(List.of(engine.url()))) {
      ConcurrentClients.of(WARM_UP, 10, _ -> () -> readAll(router.port()));
      long before = router.residentKb();

      CountDownLatch slowIsOver = new CountDownLatch(1);
      Queue<Exception> failures = new ConcurrentLinkedQueue<>();
      long most;
      long received;
      try (var executor = Executors.newSingleThreadExecutor()) {
        Future<List<Long>> readers =
            executor.submit(
                (Callable<List<Long>>)
                    () ->
                        ConcurrentClients.of(
                            READERS, _ -> () -> readSlowly(router.port(), slowIsOver, failures)));
        try {
          most = watchWhileSlow(router, engine, failures);
        } finally {
          slowIsOver.countDown();
        }
        most = Math.max(most, watch(router, 500));
        received = readers.get().stream().mapToLong(Long::longValue).sum();
      }

      Scale.report(
          "backpressure",
          "%d readers of %d MB: resident %d MB before, at most %d MB, growth %d MB"
              .formatted(
                  READERS, STREAM_BYTES >> 20, before >> 10, most >> 10, (most - before) >> 10));
      assertThat(received).isEqualTo((long) READERS * STREAM_BYTES);
      assertThat(most - before).isLessThan(MOST_GROWTH_KB);
    }
  }

  private static long watchWhileSlow(
      RouterProcess router, RawEngine engine, Queue<Exception> failures) throws IOException {
    WaitFor.until(
        () -> "all streams begin: " + begun(engine),
        Duration.ofSeconds(60),
        () -> begun(engine) == WARM_UP + READERS || !failures.isEmpty());
    assertThat(failures).isEmpty();
    long most = watch(router, SLOW_MS);
    // A few responses may fit into system buffers that earlier, faster streams have enlarged.
    assertThat(engine.inFlight()).as("streams held open").isGreaterThan(READERS * 9 / 10);
    return most;
  }

  /** Number of client requests, without the router's own. */
  private static long begun(RawEngine engine) {
    return engine.received().stream().filter(each -> each.line().startsWith("POST ")).count();
  }

  /** The maximum resident memory within a time. */
  private static long watch(RouterProcess router, long millis) throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    long most = 0;
    while (System.nanoTime() - end < 0) {
      most = Math.max(most, router.residentKb());
      WaitFor.pause(50);
    }
    return most;
  }

  private static byte[] event() {
    byte[] event = new byte[16 << 10];
    java.util.Arrays.fill(event, (byte) 'x');
    byte[] start = "data: ".getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(start, 0, event, 0, start.length);
    event[event.length - 2] = '\n';
    event[event.length - 1] = '\n';
    return event;
  }

  private static void stream(byte[] event, OutputStream out) throws IOException {
    out.write(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .getBytes(StandardCharsets.US_ASCII));
    byte[] size = (Integer.toHexString(event.length) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    for (int sent = 0; sent < STREAM_BYTES; sent += event.length) {
      out.write(size);
      out.write(event);
      out.write('\r');
      out.write('\n');
    }
    out.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
  }

  private static long readAll(int port) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      Head head = client.send("POST", "/v1/completions", REQUEST).readHead();
      return client.readBody(head).body().length;
    }
  }

  /**
   * Reads a few hundred bytes at intervals until the latch opens, then everything.
   *
   * @return the length of the body in bytes
   */
  private static long readSlowly(int port, CountDownLatch slowIsOver, Queue<Exception> failures)
      throws Exception {
    try (RawClient client = RawClient.connectSlow(port, 64 << 10)) {
      Head head = client.send("POST", "/v1/completions", REQUEST).readHead();
      return client.skipChunks(head, () -> slowIsOver.await(100, TimeUnit.MILLISECONDS));
    } catch (Exception e) {
      failures.add(e);
      throw e;
    }
  }
}
