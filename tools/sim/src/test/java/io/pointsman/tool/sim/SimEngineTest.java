package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.EventLoopGroup;
import io.pointsman.testkit.Await;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SimEngineTest {
  private static final String BODY = "{\"prompt\":\"hello\",\"max_tokens\":2}";

  @Test
  void eightEnginesShareOneGroup() throws IOException {
    EventLoopGroup group = SimEngine.newGroup(2);
    List<SimEngine> engines = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      engines.add(SimEngine.start(SimConfig.instant(), group));
    }
    for (SimEngine engine : engines) {
      assertThat(SimWireClient.post(engine.url() + "/v1/completions", BODY).statusCode())
          .isEqualTo(200);
      assertThat(engine.state().requests().served()).isEqualTo(1);
    }
    engines.forEach(SimEngine::close);
    group.shutdownGracefully();
  }

  @Test
  void restartedEngineHasItsPortAndAnEmptyCache() throws IOException {
    try (SimEngine engine = SimEngine.start(SimConfig.instant().withKvMemory(64, 1))) {
      String url = engine.url() + "/v1/completions";
      SimWireClient.post(url, BODY);
      engine.stop();
      assertThatThrownBy(() -> SimWireClient.post(url, BODY)).isInstanceOf(IOException.class);
      engine.restart();

      assertThat(SimWireClient.postJson(url, BODY).at("/usage/prompt_tokens_details/cached_tokens"))
          .hasToString("0");
      assertThat(engine.state().requests().served()).isEqualTo(2);
    }
  }

  @Test
  void stoppedEngineCountsNoClientsAsLeft() throws IOException {
    SimConfig slow = SimConfig.DEFAULT.withLinearLatency(1, 1000);
    try (SimEngine engine = SimEngine.start(slow);
        Socket client = SimWireClient.open(engine.port(), "/v1/completions", BODY)) {
      Await.until("a request runs", () -> engine.state().sequences().running() > 0);
      engine.stop();

      assertThat(client.getInputStream().read()).isNegative();
      assertThat(engine.state().abortedInAll()).isZero();
      assertThat(engine.state().requests().failed()).isEqualTo(1);
      assertThat(engine.state().requests().inFlight()).isZero();
      assertThat(engine.state().kv().pinned() + engine.state().kv().idle()).isZero();
    }
  }

  @Test
  void refusingEngineAcceptsAgain() throws IOException {
    try (SimEngine engine = SimEngine.start(SimConfig.instant())) {
      String url = engine.url() + "/v1/completions";
      engine.refuse();
      assertThatThrownBy(() -> SimWireClient.post(url, BODY)).isInstanceOf(IOException.class);
      engine.accept();

      assertThat(SimWireClient.post(url, BODY).statusCode()).isEqualTo(200);
    }
  }
}
