package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.CHAT;
import static io.pointsman.tool.sim.KvPair.post;
import static io.pointsman.tool.sim.KvPair.postAsync;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** SGLang by hand over real sockets: both requests at once, meeting in a room. */
class SglangWireTest {
  private final KvPair pair = new KvPair(KvConnector.SGLANG);

  @AfterEach
  void close() {
    pair.close();
  }

  @Test
  void requestsMeetInTheRoomInAnyOrder() throws Exception {
    CompletableFuture<HttpResponse<String>> early =
        postAsync(pair.prefill, "/generate", generate(1));
    KvPair.await(pair.prefill, s -> s.steps().prefill() == 1);
    assertThat(pair.prefill.kvState().reserved().requests()).isZero();
    HttpResponse<String> decode = post(pair.decode, "/generate", generate(1));
    JsonNode whole = SimWireClient.json(decode.body());

    assertThat(whole.path("meta_info").path("completion_tokens").asInt()).isEqualTo(4);
    JsonNode first = SimWireClient.json(early.get(60, TimeUnit.SECONDS).body());
    assertThat(first.path("meta_info").path("completion_tokens").asInt()).isEqualTo(1);
    pair.settled(1);

    CompletableFuture<HttpResponse<String>> waiting =
        postAsync(pair.decode, "/generate", generate(2));
    KvPair.await(pair.prefill, s -> s.transfers().waiting() == 1);
    assertThat(post(pair.prefill, "/generate", generate(2)).statusCode()).isEqualTo(200);
    assertThat(waiting.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    pair.settled(2);
  }

  @Test
  void streamedChatIsTheSameInBothRequests() throws Exception {
    ObjectNode chat = room(SimJson.object().put("max_tokens", 3).put("stream", true), 3);
    chat.putArray("messages").addObject().put("role", "user").put("content", KvPair.WORDS);
    CompletableFuture<HttpResponse<String>> prefill = postAsync(pair.prefill, CHAT, chat);
    HttpResponse<String> decode = post(pair.decode, CHAT, chat);

    assertThat(SimWireClient.events(decode.body())).hasSize(6).endsWith("[DONE]");
    assertThat(SimWireClient.events(prefill.get(60, TimeUnit.SECONDS).body())).endsWith("[DONE]");
    pair.settled(1);
  }

  @ParameterizedTest
  @CsvSource({
    "bootstrap_room, null",
    "bootstrap_room, -1",
    "bootstrap_room, \"1\"",
    "bootstrap_host, null",
    "bootstrap_port, null",
    "bootstrap_port, \"1\""
  })
  void bothEnginesNoticeEveryWrongField(String field, String value) throws IOException {
    ObjectNode body = generate(4);
    body.set(field, SimWireClient.json(value));
    refused(pair.prefill, field, "/generate", body);
    refused(pair.decode, field, "/generate", body);
  }

  @Test
  void addressOfAnotherEngineIsNoticed() throws IOException {
    ObjectNode elsewhere = generate(5).put("bootstrap_port", pair.decode.kvState().port());
    refused(pair.prefill, "bootstrap_port", "/generate", elsewhere);
    ObjectNode foreign = generate(5).put("bootstrap_host", "10.9.9.9");
    refused(pair.prefill, "bootstrap_host", "/generate", foreign);
    refused(pair.decode, "bootstrap_port", "/generate", generate(5).put("bootstrap_port", 1));
  }

  @Test
  void roomInUseIsNoticed() throws IOException {
    String body = generate(6).toString();
    try (Socket first = SimWireClient.open(pair.prefill.port(), "/generate", body)) {
      KvPair.await(pair.prefill, s -> s.steps().prefill() == 1);
      assertThat(first.isConnected()).isTrue();
      refused(pair.prefill, "bootstrap_room", "/generate", generate(6));
    }
  }

  @Test
  void requestWithoutItsCounterpartEndsAfterTheWait() throws IOException {
    try (KvPair brief = new KvPair(KvConnector.SGLANG, options -> options.withWaitSeconds(0.2))) {
      int port = brief.prefill.kvState().port();
      ObjectNode body = generate(7).put("bootstrap_port", port);
      refused(brief.prefill, "bootstrap_room", "/generate", body);
      refused(brief.decode, "bootstrap_room", "/generate", body);
      KvState state = brief.prefill.kvState();
      assertThat(state.reserved().requests()).isZero();
      assertThat(state.transfers().waiting()).isZero();
    }
  }

  /** With two ranks, room 4 means rank 0. */
  @Test
  void prefillOnAnotherRankIsFoundOnlyIfDecodesRequestNamesIt() throws Exception {
    try (KvPair ranks =
        new KvPair(KvConnector.SGLANG, o -> o.withRanks(1, 2).withWaitSeconds(0.2))) {
      int port = ranks.prefill.kvState().port();
      ObjectNode first = generate(4).put("bootstrap_port", port).put("routed_dp_rank", 1);
      ObjectNode second = generate(4).put("bootstrap_port", port);
      refused(ranks.decode, "bootstrap_room", "/generate", second);
      refused(ranks.prefill, "bootstrap_room", "/generate", first);
      refused(
          ranks.prefill, "routed_dp_rank", "/generate", first.deepCopy().put("routed_dp_rank", 2));
    }
    try (KvPair ranks = new KvPair(KvConnector.SGLANG, o -> o.withRanks(1, 2))) {
      int port = ranks.prefill.kvState().port();
      ObjectNode first = generate(4).put("bootstrap_port", port).put("routed_dp_rank", 1);
      ObjectNode second = generate(4).put("bootstrap_port", port).put("disagg_prefill_dp_rank", 1);
      CompletableFuture<HttpResponse<String>> early = postAsync(ranks.prefill, "/generate", first);
      assertThat(post(ranks.decode, "/generate", second).statusCode()).isEqualTo(200);
      assertThat(early.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      ranks.settled(1);

      ObjectNode follows = generate(5).put("bootstrap_port", port);
      early = postAsync(ranks.prefill, "/generate", follows);
      assertThat(post(ranks.decode, "/generate", follows).statusCode()).isEqualTo(200);
      assertThat(early.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      ranks.settled(2);
    }
  }

  @Test
  void cancelledDecodeRequestLeavesTheRoom() throws IOException {
    Socket client = SimWireClient.open(pair.decode.port(), "/generate", generate(8).toString());
    KvPair.await(pair.prefill, s -> s.transfers().waiting() == 1);
    client.close();

    KvPair.await(pair.prefill, s -> s.transfers().waiting() == 0);
  }

  private ObjectNode generate(long room) {
    ObjectNode body = SimJson.object().put("text", KvPair.WORDS);
    body.putObject("sampling_params").put("max_new_tokens", 4);
    return room(body, room);
  }

  private ObjectNode room(ObjectNode body, long room) {
    body.put("bootstrap_host", "127.0.0.1").put("bootstrap_port", pair.prefill.kvState().port());
    return body.put("bootstrap_room", room);
  }
}
