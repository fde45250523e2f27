package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.HttpAnswer.Head;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The program gets SIGTERM while it serves. */
final class GracefulStopTest {
  @Test
  void streamEndsInOrderAndTheProgramEndsWithZero() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    EngineScript untilTheEnd =
        (_, connection) -> {
          connection.beginEvents().chunk("data: one\n\n");
          end.await();
          connection.chunk("data: [DONE]\n\n").lastChunk();
        };
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("sim", untilTheEnd));
        RouterProcess router = RouterProcess.serve(List.of(engine.url()), "--drain-timeout", "2m");
        RawClient client = RawClient.connect(router.port())) {
      Head head = begin(client, 2);
      router.terminate();
      WaitFor.until("the port is closed", WaitFor.LONG, () -> refuses(router.port()));
      assertThat(router.isAlive()).as("still serving the stream").isTrue();
      end.countDown();
      HttpAnswer answer = client.readBody(head);

      assertThat(answer.complete()).isTrue();
      assertThat(answer.text()).isEqualTo("data: one\n\ndata: [DONE]\n\n");
      assertThat(router.awaitExit()).isZero();
    }
  }

  @Test
  @Tag("full")
  void streamThatOutlastsTheDrainTimeoutEndsWithAnErrorEvent() throws Exception {
    try (SimEngine engine = engine();
        RouterProcess router =
            RouterProcess.serve(List.of(engine.url()), "--drain-timeout", "500ms");
        RawClient client = RawClient.connect(router.port())) {
      Head head = begin(client, 20_000);
      router.terminate();
      HttpAnswer answer = client.readBody(head);

      assertThat(answer.complete()).isTrue();
      assertThat(answer.text()).doesNotContain("[DONE]");
      assertThat(answer.text().substring(answer.text().lastIndexOf("data: ")))
          .contains("\"error\"");
      assertThat(router.awaitExit()).isZero();
      WaitFor.until(
          "the engine notices it", WaitFor.LONG, () -> engine.state().abortedInAll() == 1);
    }
  }

  @Test
  @Tag("full")
  void allRequestsAreServedDuringTheDelayAndASecondSignalEndsIt() throws Exception {
    try (SimEngine engine = engine();
        RouterProcess router = RouterProcess.serve(List.of(engine.url()), "--drain-delay", "1h")) {
      AtomicBoolean over = new AtomicBoolean();
      Queue<String> failures = new ConcurrentLinkedQueue<>();
      AtomicInteger served = new AtomicInteger();
      List<Thread> clients = new ArrayList<>();
      for (boolean keeps : new boolean[] {true, true, false, false}) {
        Runnable load = () -> load(router.port(), keeps, over, served, failures);
        clients.add(Thread.ofVirtual().start(load));
      }
      WaitFor.until("load", WaitFor.LONG, () -> served.get() > 100);
      router.terminate();
      WaitFor.until("readiness is false", WaitFor.LONG, () -> readiness(router.port()) == 503);
      int then = served.get();
      WaitFor.until("load goes on", WaitFor.LONG, () -> served.get() > then + 200);
      over.set(true);
      for (Thread client : clients) {
        client.join();
      }

      assertThat(failures).isEmpty();
      router.terminate();
      assertThat(router.awaitExit()).isEqualTo(130);
    }
  }

  /** Sends requests one after the other, reusing connections as long as possible. */
  private static void load(
      int port, boolean keeps, AtomicBoolean over, AtomicInteger served, Queue<String> failures) {
    String body = "{\"model\":\"sim\",\"max_tokens\":1,\"prompt\":\"go on\"}";
    while (!over.get()) {
      try (RawClient client = RawClient.connect(port)) {
        HttpAnswer answer;
        do {
          answer = client.send("POST", "/v1/completions", body).read();
          if (answer.status() != 200 || !answer.complete()) {
            failures.add(answer.status() + ": " + answer.text());
          }
          served.incrementAndGet();
        } while (keeps && !over.get() && !"close".equals(answer.header("connection")));
      } catch (IOException e) {
        failures.add(e.toString());
      }
    }
  }

  private static int readiness(int port) {
    try {
      return RawClient.call(port, "GET", "/readiness", "").status();
    } catch (IOException e) {
      return 0;
    }
  }

  private static SimEngine engine() {
    return SimEngine.start(SimConfig.instant().withModels("sim").withLinearLatency(0, 10));
  }

  private static Head begin(RawClient client, int tokens) throws IOException {
    String body =
        "{\"model\":\"sim\",\"stream\":true,\"max_tokens\":%d,\"prompt\":\"go on\"}"
            .formatted(tokens);
    return client.send("POST", "/v1/completions", body).readHead();
  }

  private static boolean refuses(int port) {
    try {
      RawClient.connect(port).close();
      return false;
    } catch (IOException e) {
      return true;
    }
  }
}
