package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Stopping: what is under way ends, what is idle closes, what stays too long is cut. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@ParameterizedClass
@EnumSource(
    value = Transport.class,
    names = {"AUTO", "EPOLL", "NIO"})
@Timeout(60)
class DrainTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private static final String ONE_EVENT =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
          + "b\r\ndata: one\n\n\r\n";

  private static ProxySettings within(Duration timeout) {
    return ProxySettings.DEFAULTS.withDrainTimeout(timeout);
  }

  @Test
  void streamUnderWayRunsToItsEnd() throws Exception {
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
      closing.join(Duration.ofSeconds(20));
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
  void whatIsLeftIsCutWithAnErrorEvent() throws Exception {
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
  void whatHasNoAnswerYetIsCutWith503() throws Exception {
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
  void answersWhileDrainingSayThatTheConnectionCloses() throws Exception {
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
