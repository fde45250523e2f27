package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/**
 * Stop of the server: requests in progress end, idle connections close, requests beyond the timeout
 * are cut.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class DrainTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";
  private static final int STREAMS = 100;

  @Parameter Transport transport = Transport.AUTO;

  private static final String ONE_EVENT =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
          + "b\r\ndata: one\n\n\r\n";

  private static ProxySettings within(Duration timeout) {
    return ProxySettings.DEFAULTS.withDrainTimeout(timeout);
  }

  @Test
  void streamInProgressRunsToItsEnd() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    ProxyRig rig = new ProxyRig(transport, within(Duration.ofSeconds(30)));
    try (ScriptedEngine engine =
        ScriptedEngine.start(
            (request, connection) -> {
              connection.send(ONE_EVENT);
              end.await();
              connection.chunk("data: two\n\n").lastChunk();
            })) {
      rig.worker(engine.url());
      WireClient idle = rig.connect();
      int port = rig.server().port();
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.head();
      assertThat(client.chunk()).isEqualTo("data: one\n\n");
      Thread closing = Thread.ofVirtual().start(() -> rig.server().close());

      assertThat(idle.atEnd()).isTrue();
      ProxyRig.await("no longer listening", () -> refuses(port));
      assertThat(closing.isAlive()).isTrue();
      end.countDown();

      assertThat(client.chunk()).isEqualTo("data: two\n\n");
      assertThat(client.chunk()).isEmpty();
      assertThat(client.atEnd()).isTrue();
      closing.join(Await.LONG);
      assertThat(closing.isAlive()).isFalse();
      rig.close();
    }
  }

  private static boolean refuses(int port) {
    try (WireClient client = new WireClient(port)) {
      return client.atEnd();
    } catch (IOException _) {
      return true;
    }
  }

  @Test
  void duringTheDelayEveryConnectionAndRequestIsServed() throws Exception {
    ProxyRig rig =
        new ProxyRig(transport, within(Duration.ofHours(2)).withDrainDelay(Duration.ofHours(1)));
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      Load load = new Load(rig.server().port());
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        boolean keeps = i % 2 == 0;
        clients.add(Thread.ofVirtual().start(() -> load.run(keeps)));
      }
      ProxyRig.await("load", () -> load.served.get() > 50);
      WireClient idle = rig.connect();
      Thread closing = Thread.ofPlatform().start(() -> rig.server().close());
      ProxyRig.await("answers say that they are the last", () -> load.last.get() > 200);

      assertThat(closing.isAlive()).isTrue();
      assertThat(idle.send(ProxyRig.post(CHAT, BODY)).read().header("connection"))
          .isEqualTo("close");
      load.over = true;
      for (Thread client : clients) {
        client.join();
      }
      closing.interrupt(); // ends the delay and the drain
      closing.join();
      assertThat(load.failures).isEmpty();
      rig.close();
    }
  }

  /** Clients that send requests one after another. */
  private static final class Load {
    private final int port;
    final AtomicInteger served = new AtomicInteger();

    /** Number of answers that announced the close of their connection. */
    final AtomicInteger last = new AtomicInteger();

    final Queue<Object> failures = new ConcurrentLinkedQueue<>();
    volatile boolean over;

    Load(int port) {
      this.port = port;
    }

    /**
     * @param keeps true to reuse a connection while its answers allow it
     */
    void run(boolean keeps) {
      while (!over) {
        try (WireClient client = new WireClient(port)) {
          boolean more = true;
          while (more) {
            more = ask(client) && keeps && !over;
          }
        } catch (IOException e) {
          failures.add(e);
        }
      }
    }

    private boolean ask(WireClient client) throws IOException {
      WireResponse response = client.send(ProxyRig.post(CHAT, BODY)).read();
      if (response.status() != 200) {
        failures.add(response.line());
      }
      served.incrementAndGet();
      boolean closes = "close".equals(response.header("connection"));
      if (closes) {
        last.incrementAndGet();
      }
      return !closes;
    }
  }

  @Test
  void requestWithAPartOfItsHeadIsServed() throws Exception {
    ProxySettings settings =
        within(Duration.ofSeconds(30)).withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    ProxyRig rig = new ProxyRig(transport, settings);
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      String request = ProxyRig.post(CHAT, BODY);
      WireClient idle = rig.connect().send(request);
      idle.read();
      WireClient client = rig.connect().send(request);
      client.read();
      client.send(request.substring(0, 20));
      // There is one event loop. This answer proves that it has read the earlier bytes.
      idle.send(request).read();

      rig.server().beginDrain();

      assertThat(idle.atEnd()).isTrue();
      assertThat(client.send(request.substring(20)).read().header("connection")).isEqualTo("close");
      assertThat(client.atEnd()).isTrue();
      rig.close();
    }
  }

  @Test
  void unreadRequestIsServed() throws Exception {
    ProxySettings settings =
        within(Duration.ofSeconds(30)).withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    ProxyRig rig = new ProxyRig(transport, settings);
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.read();
      CountDownLatch first = new CountDownLatch(1);
      CountDownLatch second = new CountDownLatch(1);
      rig.server().executeOnLoops(() -> await(first));
      Thread draining = Thread.ofPlatform().start(() -> rig.server().beginDrain());
      ProxyRig.await("it waits to close", () -> waitsIn(draining, "beginDrain"));
      rig.server().executeOnLoops(() -> await(second));
      first.countDown();
      // A ring closes a socket only in the loop's next round, and the request arrives before it.
      String step = transport == Transport.AUTO ? "beginDrain" : "onEachLoop";
      ProxyRig.await("it waits to drain", () -> waitsIn(draining, step));
      client.send(ProxyRig.post(CHAT, BODY));
      second.countDown();

      assertThat(client.read().status()).isEqualTo(200);
      assertThat(client.atEnd()).isTrue();
      rig.close();
    }
  }

  private static boolean waitsIn(Thread thread, String method) {
    return thread.getState() == Thread.State.WAITING
        && Arrays.stream(thread.getStackTrace()).anyMatch(f -> f.getMethodName().equals(method));
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void remainingStreamIsCutWithAnErrorEvent() throws Exception {
    ProxyRig rig = new ProxyRig(transport, within(Duration.ofMillis(200)));
    try (ScriptedEngine engine = ScriptedEngine.start(new HangAfter(ONE_EVENT))) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.head();
      client.chunk();

      rig.server().close();

      assertThat(client.chunk()).contains("\"code\":\"shutting_down\"");
      assertThat(client.chunk()).isEmpty();
      assertThat(client.atEnd()).isTrue();
      assertThat(engine.awaitDeparture()).isTrue();
      rig.close();
    }
  }

  @Test
  void requestWithoutAnAnswerIsCutWith503() throws Exception {
    ProxyRig rig = new ProxyRig(transport, within(Duration.ofMillis(200)));
    try (ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();

      rig.server().close();

      assertThat(client.read().status()).isEqualTo(503);
      rig.close();
    }
  }

  @Test
  void loopsStopAfterTheConnectionsOfCutStreamsHaveClosed() throws Exception {
    ProxyRig rig = new ProxyRig(transport, within(Duration.ZERO));
    try (ScriptedEngine engine = ScriptedEngine.start(new HangAfter(ONE_EVENT));
        RefusedTasks refused = new RefusedTasks()) {
      rig.worker(engine.url());
      List<WireClient> clients = new ArrayList<>();
      for (int i = 0; i < STREAMS; i++) {
        clients.add(rig.connect().send(ProxyRig.post(CHAT, BODY)));
      }
      for (WireClient client : clients) {
        client.head();
      }

      rig.server().close();

      assertThat(refused.found()).isEmpty();
      rig.close();
    }
  }

  @Test
  void answersDuringADrainAnnounceTheCloseOfTheConnection() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    ProxyRig rig = new ProxyRig(transport, within(Duration.ofSeconds(30)));
    try (ScriptedEngine engine =
        ScriptedEngine.start(
            (request, connection) -> {
              end.await();
              Answer.ok().answer(request, connection);
            })) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();
      rig.server().beginDrain();
      end.countDown();

      assertThat(client.read().header("connection")).isEqualTo("close");
      assertThat(client.atEnd()).isTrue();
      rig.close();
    }
  }
}
