package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

class KvCapacityTest {
  private static long ofAll(String reply) {
    return KvCapacity.tokens(reply, false);
  }

  private static long ofOneRank(String reply) {
    return KvCapacity.tokens(reply, true);
  }

  @Test
  void anEngineWithoutTheOlderPathIsQueriedAtTheNewerOne() throws Exception {
    HttpServer engine =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    Queue<String> asked = new ConcurrentLinkedQueue<>();
    engine.createContext(
        "/",
        exchange -> {
          String path = exchange.getRequestURI().getPath();
          asked.add(path);
          byte[] reply = "{\"max_total_num_tokens\":431200}".getBytes(StandardCharsets.UTF_8);
          boolean known = path.equals("/server_info");
          exchange.sendResponseHeaders(known ? 200 : 404, known ? reply.length : -1);
          if (known) {
            exchange.getResponseBody().write(reply);
          }
          exchange.close();
        });
    engine.start();
    try {
      Worker worker =
          new Fleet(FleetSettings.DEFAULTS, new SystemTicker())
              .add(WorkerSpec.of("http://127.0.0.1:" + engine.getAddress().getPort()));
      new KvCapacity(
              new EngineClient(EngineKeys.NONE, new SystemTicker()), () -> Duration.ofSeconds(60))
          .learn(worker);

      assertThat(worker.kvTokens()).isEqualTo(431_200);
      assertThat(asked).containsExactly("/get_server_info", "/server_info");
    } finally {
      engine.stop(0);
    }
  }

  @Test
  void sglangReportsItsTokens() {
    assertThat(ofAll("{\"page_size\":16,\"max_total_num_tokens\": 431200,\"x\":1}"))
        .isEqualTo(431_200);
  }

  @Test
  void sglangReportsTokensPerRankAndNumberOfRanks() {
    String reply = "{\"dp_size\": 4,\"max_total_num_tokens\":100000,\"internal_states\":[]}";

    assertThat(ofAll(reply)).isEqualTo(400_000);
    assertThat(ofOneRank(reply)).isEqualTo(100_000);
  }

  @Test
  void vllmReportsItsBlocks() {
    String reply =
        """
        # TYPE vllm:cache_config_info gauge
        vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27000"} 1.0
        """;

    assertThat(ofAll(reply)).isEqualTo(432_000);
    assertThat(ofOneRank(reply)).isEqualTo(432_000);
  }

  @Test
  void vllmReportsTheBlocksOfAllRanksInEachSeries() {
    String reply =
        """
        vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="54000"} 1.0
        vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="54000"} 1.0
        """;

    assertThat(ofAll(reply)).isEqualTo(864_000);
    assertThat(ofOneRank(reply)).isEqualTo(432_000);
  }

  /** For models with several kinds of caches, blocks times block size is not the capacity. */
  @Test
  void vllmReportsTheTokensOfEachRank() {
    String reply =
        """
        vllm:cache_config_info{block_size="4",engine="0",kv_cache_size_tokens="300000",num_gpu_blocks="9000"} 1
        vllm:cache_config_info{block_size="4",engine="1",kv_cache_size_tokens="300000",num_gpu_blocks="9000"} 1
        """;

    assertThat(ofAll(reply)).isEqualTo(600_000);
    assertThat(ofOneRank(reply)).isEqualTo(300_000);
  }

  @Test
  void otherEnginesReportNothing() {
    assertThat(ofAll("")).isZero();
    assertThat(ofAll("{\"max_total_num_tokens\":null}")).isZero();
    assertThat(ofAll("vllm:cache_config_info{num_gpu_blocks=\"None\"} 1")).isZero();
    assertThat(ofAll("{\"max_total_num_tokens\":99999999999999999999}")).isZero();
  }
}
