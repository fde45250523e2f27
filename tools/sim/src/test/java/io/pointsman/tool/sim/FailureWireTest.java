package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.live.AbortPhase;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FailureWireTest {
  private static final String BODY = "{\"prompt\":\"hello\",\"max_tokens\":4}";
  private static final String STREAM = "{\"prompt\":\"hello\",\"max_tokens\":4,\"stream\":true}";
  private final SimEngine engine = SimEngine.start(SimConfig.instant().withAdminPort(0));
  private final String url = engine.url() + "/v1/completions";

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void statusWithRetryAfterIsAnsweredTheGivenNumberOfTimes() throws IOException {
    failure("{\"kind\":\"status\",\"status\":429,\"retry_after\":7,\"count\":1}");
    var struck = SimWireClient.post(url, BODY);

    assertThat(struck.statusCode()).isEqualTo(429);
    assertThat(struck.headers().firstValue("retry-after")).contains("7");
    assertThat(SimWireClient.json(struck.body()).at("/error/code").asInt()).isEqualTo(429);
    assertThat(SimWireClient.post(url, BODY).statusCode()).isEqualTo(200);
  }

  @Test
  void resetBreaksTheConnectionAfterTheBytes() throws IOException {
    engine.failures().times(1, new Fault.ResetAfterBytes(20, false));
    try (Socket client = SimWireClient.open(engine.port(), "/v1/completions", STREAM)) {
      byte[] start = client.getInputStream().readNBytes(20);

      assertThat(start).hasSize(20);
      assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketException.class);
    }
    assertThat(engine.state().requests().failed()).isEqualTo(1);
    assertThat(engine.state().abortedInAll()).isZero();
  }

  @Test
  void orderlyResetTruncatesTheStream() throws IOException {
    engine.failures().times(1, new Fault.ResetAfterBytes(300, true));
    try (Socket client = SimWireClient.open(engine.port(), "/v1/completions", STREAM)) {
      String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

      assertThat(text).hasSize(300).doesNotContain("[DONE]");
    }
  }

  @Test
  void malformedChunkFollowsTheFirst() throws IOException {
    failure("{\"kind\":\"malformed_chunk\"}");
    for (String body : new String[] {BODY, STREAM}) {
      try (Socket client = SimWireClient.open(engine.port(), "/v1/completions", body)) {
        String text = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(text).contains("transfer-encoding: chunked").contains("not-a-chunk");
      }
    }
    assertThat(engine.state().requests().failed()).isEqualTo(2);
  }

  @Test
  void hangAnswersAfterItsTimeOnly() throws IOException {
    failure("{\"kind\":\"hang\",\"for_ms\":150,\"count\":1}");
    long start = System.nanoTime();

    assertThat(SimWireClient.post(url, BODY).statusCode()).isEqualTo(200);
    assertThat(System.nanoTime() - start).isGreaterThan(140_000_000L);
  }

  @Test
  void hangingRequestsContinueOnCommand() throws Exception {
    engine.failures().times(2, new Fault.Hang(0));
    try (Socket first = SimWireClient.open(engine.port(), "/v1/completions", STREAM);
        Socket second = SimWireClient.open(engine.port(), "/v1/completions", STREAM)) {
      Await.until("both hang", () -> engine.state().requests().inFlight() == 2);
      engine.failures().times(1, new Fault.Status(500, 0));
      engine.resumeHung();

      String both =
          SimWireClient.readUntil(first.getInputStream(), "\r\n")
              + SimWireClient.readUntil(second.getInputStream(), "\r\n");
      assertThat(both).contains("HTTP/1.1 200").contains("HTTP/1.1 500");
    }
    Await.until("none is in flight", () -> engine.state().requests().inFlight() == 0);
    assertThat(engine.state().abortedIn(AbortPhase.ACCEPTED)).isZero();
  }

  @Test
  void slowFirstTokenComesAfterTheHeaders() throws IOException {
    engine.failures().times(1, new Fault.SlowFirstToken(3_600_000));
    try (Socket client = SimWireClient.open(engine.port(), "/v1/completions", STREAM)) {
      SimWireClient.readUntil(client.getInputStream(), "\r\n\r\n");
      assertThat(engine.state().tokens().generated()).isZero();
    }
    engine.failures().times(1, new Fault.SlowFirstToken(20));
    try (Socket client = SimWireClient.open(engine.port(), "/v1/completions", STREAM)) {
      SimWireClient.readUntil(client.getInputStream(), "[DONE]");
    }
    assertThat(engine.state().tokens().generated()).isEqualTo(4);
  }

  @Test
  void flappingHealthIsDownInItsPeriods() throws IOException {
    failure("{\"kind\":\"flapping_health\",\"up_ms\":0,\"down_ms\":1000}");
    assertThat(SimWireClient.get(engine.url() + "/health").statusCode()).isEqualTo(503);
    assertThat(SimWireClient.post(url, BODY).statusCode()).isEqualTo(200);
    SimWireClient.send("DELETE", engine.url() + "/sim/failures", "");

    assertThat(SimWireClient.get(engine.url() + "/health").statusCode()).isEqualTo(200);
  }

  @Test
  void refusedConnectionsAreAcceptedLater() throws IOException {
    String admin = "http://127.0.0.1:" + engine.adminPort();
    SimWireClient.post(admin + "/sim/failures", "{\"kind\":\"refuse\",\"for_ms\":3600000}");
    assertThatThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), engine.port()).close())
        .isInstanceOf(IOException.class);
    assertThat(SimWireClient.get(admin + "/sim/state").statusCode()).isEqualTo(200);
    engine.accept();
    SimWireClient.post(admin + "/sim/failures", "{\"kind\":\"refuse\",\"for_ms\":50}");
    Await.until("connections are accepted", this::accepts);

    assertThat(SimWireClient.post(url, BODY).statusCode()).isEqualTo(200);
  }

  @Test
  void failureForAPathStrikesThereOnly() throws IOException {
    engine.failures().add(ScheduledFault.always(new Fault.Status(500, 0)).on("/health"));

    assertThat(SimWireClient.get(engine.url() + "/health").statusCode()).isEqualTo(500);
    assertThat(SimWireClient.post(url, BODY).statusCode()).isEqualTo(200);
  }

  @Test
  void listShowsActiveFailuresAndTheirCounts() throws IOException {
    JsonNode ids =
        failure("[{\"kind\":\"status\",\"count\":5},{\"kind\":\"hang\",\"path\":\"/x\"}]");
    SimWireClient.post(url, BODY);
    JsonNode list = SimWireClient.json(SimWireClient.get(engine.url() + "/sim/failures").body());

    assertThat(ids.at("/ids")).hasSize(2);
    assertThat(list).hasSize(2);
    assertThat(list.at("/0/struck").asInt()).isEqualTo(1);
    String one = engine.url() + "/sim/failures/" + ids.at("/ids/0").asText();
    assertThat(SimWireClient.send("DELETE", one, "").statusCode()).isEqualTo(200);
    assertThat(SimWireClient.send("DELETE", one, "").statusCode()).isEqualTo(404);
  }

  @Test
  void unknownFieldOfAFailureIsRefused() throws IOException {
    var response =
        SimWireClient.post(engine.url() + "/sim/failures", "{\"kind\":\"hang\",\"for_s\":1}");

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("for_s");
  }

  private boolean accepts() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), engine.port())) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private JsonNode failure(String json) throws IOException {
    return SimWireClient.postJson(engine.url() + "/sim/failures", json);
  }
}
