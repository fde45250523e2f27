package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Stored responses with a worker unknown to the router, as after its restart. */
@Tag("full")
class KeptResponsesTest {
  private static final String BODY =
      "{\"model\":\"sim\",\"input\":\"a few words\",\"max_output_tokens\":3}";

  private static SplitCluster.Setup direct() {
    return SplitCluster.of("nixl", KvConnector.NIXL).engines(1, 2).direct();
  }

  /** Creates a response past the router. */
  private static String made(SimEngine engine) throws IOException {
    HttpAnswer made = RawClient.call(engine.port(), "POST", "/v1/responses", BODY);
    assertThat(made.status()).as(made.text()).isEqualTo(200);
    return made.text().replaceFirst("(?s).*?\"id\":\"(resp[^\"]+)\".*", "$1");
  }

  private static void addRegular(SplitCluster cluster, SimEngine engine) throws IOException {
    HttpAnswer added = cluster.post("/workers", "{\"url\":\"%s\"}".formatted(engine.url()));
    assertThat(added.status()).as(added.text()).isEqualTo(200);
    WaitFor.until(
        "it is well",
        WaitFor.LONG,
        () ->
            cluster.router().workers().stream()
                .anyMatch(
                    each -> each.spec().url().equals(engine.url()) && each.health().healthy()));
  }

  @Test
  void aDecodeWorkersResponseIsFoundBesideRegularWorkers() throws IOException {
    try (SplitCluster cluster = direct().set("decode-can-prefill", false).start();
        SimEngine regular =
            SimEngine.start(SimConfig.instant().withModels("sim").withScaleOut(true))) {
      addRegular(cluster, regular);
      String id = made(cluster.decodes.getLast());
      for (int i = 0; i < 2; i++) {
        HttpAnswer read = RawClient.call(cluster.port(), "GET", "/v1/responses/" + id, "");
        assertThat(read.status()).as(read.text()).isEqualTo(200);
        assertThat(read.header("x-pointsman-worker"))
            .isEqualTo(cluster.worker(cluster.decodes.getLast()).id());
      }
      HttpAnswer none = RawClient.call(cluster.port(), "GET", "/v1/responses/resp_of_nobody", "");
      assertThat(none.status()).as(none.text()).isEqualTo(404);
    }
  }

  @Test
  void otherRequestsByIdFindItToo() throws IOException {
    try (SplitCluster cluster = direct().set("decode-can-prefill", false).start();
        SimEngine regular =
            SimEngine.start(SimConfig.instant().withModels("sim").withScaleOut(true))) {
      addRegular(cluster, regular);
      String id = "/v1/responses/" + made(cluster.decodes.getLast());
      HttpAnswer items = RawClient.call(cluster.port(), "GET", id + "/input_items", "");
      assertThat(items.status()).as(items.text()).isEqualTo(200);
      String deleted = "/v1/responses/" + made(cluster.decodes.getLast());
      HttpAnswer gone = RawClient.call(cluster.port(), "DELETE", deleted, "");
      assertThat(gone.status()).as(gone.text()).isEqualTo(200);
      assertThat(RawClient.call(cluster.port(), "GET", deleted, "").status()).isEqualTo(404);
    }
  }
}
