package io.pointsman.it.split;

import static io.pointsman.it.split.SplitCluster.body;
import static io.pointsman.it.split.SplitProtocolsTest.WORDS;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.Answer;
import io.pointsman.sim.kv.KvConnector;
import io.pointsman.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What each worker gets, byte for byte, beside what docs/pd-protocols.md says. */
class SplitLegsTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Members that no protocol touches: odd numbers, spaces, unknown names. */
  private static final String REST =
      "{ \"model\":\"sim\",\"prompt\":\"" + WORDS + "\",\"x_odd\":[1.50, 1e3,{\"a\" : null}]";

  private static final String CLIENT =
      REST
          + ",\"max_tokens\":5,\"stream\":true,\"stream_options\":{\"include_usage\":true},"
          + "\"min_tokens\":2}";

  private static Logged only(List<Logged> requests) {
    assertThat(requests).hasSize(1);
    return requests.getFirst();
  }

  private static String header(Logged request, String name) {
    List<String> values =
        request.headers().stream()
            .filter(header -> header.getKey().equalsIgnoreCase(name))
            .map(header -> header.getValue())
            .toList();
    assertThat(values).as(name + " of " + request.headers()).hasSize(1);
    return values.getFirst();
  }

  private static Answer ask(SplitCluster cluster) throws IOException {
    Answer answer =
        cluster.post(
            "/v1/completions",
            CLIENT,
            "x-request-id: 6f1c",
            "authorization: Bearer mine",
            "x-tenant: t1");
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.header("x-request-id")).isEqualTo("6f1c");
    return answer;
  }

  private static void clientsHeadersGoToBoth(Logged prefill, Logged decode) {
    for (Logged leg : List.of(prefill, decode)) {
      assertThat(header(leg, "authorization")).isEqualTo("Bearer mine");
      assertThat(header(leg, "x-tenant")).isEqualTo("t1");
    }
  }

  @Test
  void nixl() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("nixl", KvConnector.NIXL).start()) {
      ask(cluster);
      Logged prefill = only(cluster.prefills.getFirst().requestLog());
      Logged decode = only(cluster.decodes.getFirst().requestLog());
      assertThat(body(prefill))
          .isEqualTo(
              REST
                  + ",\"max_tokens\":1,\"stream\":false,"
                  + "\"kv_transfer_params\":{\"do_remote_decode\":true,\"do_remote_prefill\":false,"
                  + "\"remote_engine_id\":null,\"remote_block_ids\":null,\"remote_host\":null,"
                  + "\"remote_port\":null}}");
      String sent = body(decode);
      String untouched = CLIENT.substring(0, CLIENT.length() - 1);
      assertThat(sent).startsWith(untouched + ",\"kv_transfer_params\":{");
      JsonNode params = JSON.readTree(sent).path("kv_transfer_params");
      assertThat(params.path("do_remote_prefill").asBoolean()).isTrue();
      assertThat(params.path("remote_engine_id").asText())
          .isEqualTo(cluster.prefills.getFirst().kvState().engineId());
      assertThat(header(prefill, "x-request-id")).isEqualTo("6f1c");
      assertThat(header(decode, "x-request-id")).isEqualTo("6f1c");
      clientsHeadersGoToBoth(prefill, decode);
    }
  }

  @Test
  void sglang() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("sglang", KvConnector.SGLANG).start()) {
      ask(cluster);
      Logged prefill = only(cluster.prefills.getFirst().requestLog());
      Logged decode = only(cluster.decodes.getFirst().requestLog());
      assertThat(body(prefill)).isEqualTo(body(decode));
      int port = cluster.prefills.getFirst().kvState().port();
      assertThat(body(prefill))
          .matches(
              Pattern.quote(CLIENT.substring(0, CLIENT.length() - 1))
                  + ",\"bootstrap_host\":\"127.0.0.1\",\"bootstrap_port\":"
                  + port
                  + ",\"bootstrap_room\":\\d{1,19}}");
      clientsHeadersGoToBoth(prefill, decode);
    }
  }

  @Test
  void p2pNccl() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("p2p_nccl", KvConnector.P2P_NCCL).start()) {
      ask(cluster);
      Logged prefill = only(cluster.prefills.getFirst().requestLog());
      Logged decode = only(cluster.decodes.getFirst().requestLog());
      assertThat(body(prefill)).isEqualTo(REST + ",\"max_tokens\":1,\"stream\":false}");
      assertThat(body(decode)).isEqualTo(CLIENT);
      assertThat(header(prefill, "x-request-id"))
          .isEqualTo(header(decode, "x-request-id"))
          .matches(
              "___prefill_addr_127.0.0.1:%d___decode_addr_127.0.0.1:%d_[0-9a-f]{32}"
                  .formatted(
                      cluster.prefills.getFirst().kvState().port(),
                      cluster.decodes.getFirst().kvState().port()));
      clientsHeadersGoToBoth(prefill, decode);
    }
  }

  @Test
  void orchestrated() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("orchestrated", KvConnector.ORCHESTRATED).start()) {
      ask(cluster);
      Logged prefill = only(cluster.prefills.getFirst().requestLog());
      Logged decode = only(cluster.decodes.getFirst().requestLog());
      assertThat(body(prefill)).isEqualTo(REST + ",\"max_tokens\":1,\"stream\":false}");
      assertThat(body(decode))
          .startsWith(
              CLIENT.substring(0, CLIENT.length() - 1) + ",\"disagg_prefill_resp\":{\"id\":");
    }
  }

  @Test
  void transparent() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("transparent", KvConnector.NONE).start()) {
      ask(cluster);
      assertThat(body(only(cluster.prefills.getFirst().requestLog())))
          .isEqualTo(REST + ",\"max_tokens\":1,\"stream\":false}");
      assertThat(body(only(cluster.decodes.getFirst().requestLog()))).isEqualTo(CLIENT);
    }
  }

  /** The router reads the prefill's answer, so that it must not come encoded. */
  @Test
  void onlyDecodeMayEncodeItsAnswer() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("nixl", KvConnector.NIXL).start()) {
      Answer answer = cluster.post("/v1/completions", CLIENT, "accept-encoding: identity, gzip");
      assertThat(answer.status()).isEqualTo(200);
      Logged prefill = only(cluster.prefills.getFirst().requestLog());
      assertThat(prefill.headers()).noneMatch(h -> h.getKey().equalsIgnoreCase("accept-encoding"));
      assertThat(header(only(cluster.decodes.getFirst().requestLog()), "accept-encoding"))
          .isEqualTo("identity, gzip");
    }
  }
}
