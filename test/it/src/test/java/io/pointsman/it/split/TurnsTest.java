package io.pointsman.it.split;

import static io.pointsman.it.split.SplitCluster.body;
import static io.pointsman.it.split.SplitProtocolsTest.WORDS;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Conversations with blocks that the decode engine keeps for the next turn ({@code nixl},
 * bidirectional). The next prompt uses them only if it continues the response. The engines compare
 * the blocks' tokens with the prompt, so wrong blocks are errors.
 */
@Timeout(180)
@Tag("full")
final class TurnsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHAT = "/v1/chat/completions";
  private static final String SESSION = "x-session-id: s1";
  private static final String NOTHING = "\"remote_engine_id\":null";

  private static SplitCluster.Setup setup() {
    return SplitCluster.of("nixl", KvConnector.NIXL)
        .set("turn-ttl", "450s")
        .options(options -> options.withBidirectional(true).withParamsInStreams(true));
  }

  private static ArrayNode asked(String words) {
    ArrayNode messages = JSON.createArrayNode();
    messages.addObject().put("role", "user").put("content", words);
    return messages;
  }

  private static ArrayNode next(ArrayNode before, String said, String question) {
    ArrayNode messages = before.deepCopy();
    messages.addObject().put("role", "assistant").put("content", said);
    messages.addObject().put("role", "user").put("content", question);
    return messages;
  }

  /** Sends a turn and returns the assistant's text. */
  private static String ask(
      SplitCluster cluster, ArrayNode messages, boolean stream, String... headers)
      throws IOException {
    ObjectNode body = JSON.createObjectNode().put("model", "sim").put("max_tokens", 20);
    body.put("stream", stream).set("messages", messages);
    HttpAnswer answer = cluster.post(CHAT, body.toString(), headers);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
    return stream ? streamed(answer.text()) : whole(answer.text());
  }

  private static String whole(String text) throws IOException {
    return JSON.readTree(text).at("/choices/0/message/content").asText();
  }

  private static String streamed(String events) throws IOException {
    StringBuilder said = new StringBuilder();
    for (String event : events.split("\n\n", -1)) {
      if (event.startsWith("data: {")) {
        said.append(JSON.readTree(event.substring(6)).at("/choices/0/delta/content").asText(""));
      }
    }
    return said.toString();
  }

  /** The body of the last request to a prefill engine. */
  private static String lastPrefill(SplitCluster cluster, int engine) {
    List<Logged> log = cluster.prefills.get(engine).requestLog();
    return body(log.getLast());
  }

  private static String lastPrefill(SplitCluster cluster) {
    return lastPrefill(cluster, 0);
  }

  private static String fromDecode(SplitCluster cluster) {
    return "\"remote_engine_id\":\"" + cluster.decodes.getFirst().kvState().engineId() + "\"";
  }

  /** Stops the decode engines, and with them the blocks kept for turns that never come. */
  private static void end(SplitCluster cluster) {
    cluster.decodes.forEach(SimEngine::stop);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theNextTurnUsesTheBlocksKeptInDecode(boolean stream) throws IOException {
    try (SplitCluster cluster = setup().start()) {
      ArrayNode first = asked(WORDS);
      String said = ask(cluster, first, stream, SESSION);
      assertThat(lastPrefill(cluster)).contains(NOTHING);
      ArrayNode second = next(first, said, "and why?");
      String more = ask(cluster, second, stream, SESSION);
      assertThat(lastPrefill(cluster)).contains(fromDecode(cluster));
      assertThat(cluster.prefills.getFirst().kvState().transfers().finished()).isEqualTo(1);
      assertThat(cluster.prefills.getFirst().kvState().transfers().tokens()).isPositive();

      ask(cluster, next(second, more, "is that all?"), stream, SESSION);
      assertThat(lastPrefill(cluster)).contains(fromDecode(cluster));
      // Blocks of two prefills and two decodes are released; those of the third turn are kept.
      WaitFor.until(
          "two turns were fetched",
          WaitFor.LONG,
          () -> cluster.decodes.getFirst().kvState().reserved().released() == 2);
      assertThat(cluster.decodes.getFirst().kvState().reserved().requests()).isEqualTo(1);
      end(cluster);
    }
  }

  /** A client's next request: a continuation or a branch. */
  private enum Branch {
    SAME_AGAIN,
    OTHER_QUESTION,
    OTHER_BEGINNING,
    ANSWER_CHANGED,
    ANSWER_REPLACED;

    ArrayNode of(ArrayNode first, String said) {
      ArrayNode otherwise = asked(WORDS + " otherwise");
      return switch (this) {
        case SAME_AGAIN -> first;
        case OTHER_QUESTION -> otherwise;
        case OTHER_BEGINNING -> next(otherwise, said, "and why?");
        case ANSWER_CHANGED -> next(first, said + " indeed", "and why?");
        case ANSWER_REPLACED -> next(first, "No.", "and why?");
      };
    }
  }

  @Test
  void aBranchUsesNoKeptBlocks() throws IOException {
    try (SplitCluster cluster = setup().start()) {
      ArrayNode first = asked(WORDS);
      for (Branch branch : Branch.values()) {
        String session = "x-session-id: " + branch;
        String said = ask(cluster, first, true, session);
        ask(cluster, branch.of(first, said), true, session);
        assertThat(lastPrefill(cluster)).as(branch.toString()).contains(NOTHING);
      }
      end(cluster);
    }
  }

  /** The second response has replaced the turn of the first one. */
  @Test
  void anotherResponseReplacesTheKeptTurn() throws IOException {
    try (SplitCluster cluster = setup().start()) {
      ArrayNode first = asked(WORDS);
      String one = ask(cluster, first, false, SESSION);
      String other = ask(cluster, first, false, SESSION);
      assertThat(other).isNotEqualTo(one);
      ask(cluster, next(first, one, "and why?"), false, SESSION);
      assertThat(lastPrefill(cluster)).contains(NOTHING);
      end(cluster);
    }
  }

  @Test
  void anotherTenantsTurnIsNotUsed() throws IOException {
    try (SplitCluster cluster = setup().start()) {
      ArrayNode first = asked(WORDS);
      String said = ask(cluster, first, false, SESSION, "authorization: Bearer one");
      ArrayNode second = next(first, said, "and why?");
      for (String[] other :
          new String[][] {
            {SESSION, "authorization: Bearer two"},
            {SESSION},
            {SESSION, "authorization: Bearer one", "x-tenant-id: other"},
            {"x-session-id: s2", "authorization: Bearer one"},
            {"authorization: Bearer one"}
          }) {
        ask(cluster, second, false, other);
        assertThat(lastPrefill(cluster)).as(List.of(other).toString()).contains(NOTHING);
      }
      ask(cluster, second, false, SESSION, "authorization: Bearer one");
      assertThat(lastPrefill(cluster)).contains(fromDecode(cluster));
      end(cluster);
    }
  }

  @Test
  void aTurnEvictedFromDecodeCostsOnePrefill() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("nixl", KvConnector.NIXL)
            .options(
                options ->
                    options
                        .withBidirectional(true)
                        .withParamsInStreams(true)
                        .withDecoderTtlSeconds(0.05))
            .engines(2, 1)
            .set("prefill-policy", "round_robin")
            .set("turn-ttl", "450s")
            .start()) {
      cluster.expectLeaks();
      cluster.expectWrongFields();
      SimEngine decode = cluster.decodes.getFirst();
      ArrayNode first = asked(WORDS);
      String said = ask(cluster, first, false, SESSION);
      WaitFor.until(
          "decode has let go", WaitFor.LONG, () -> decode.kvState().reserved().requests() == 0);
      ask(cluster, next(first, said, "and why?"), false, SESSION);
      assertThat(List.of(lastPrefill(cluster, 0), lastPrefill(cluster, 1)))
          .anyMatch(sent -> sent.contains(fromDecode(cluster)))
          .anyMatch(sent -> sent.contains(NOTHING));
    }
  }

  @Test
  void aDecodeWorkerThatWasDownHasNoKeptTurns() throws IOException {
    try (SplitCluster cluster = setup().start()) {
      Worker decode = cluster.worker(cluster.decodes.getFirst());
      ArrayNode first = asked(WORDS);
      String said = ask(cluster, first, false, SESSION);
      int before = decode.health().outages();
      while (decode.health().outages() == before) {
        decode.probed(false);
      }
      WaitFor.until("decode is well again", WaitFor.LONG, () -> decode.health().healthy());
      ask(cluster, next(first, said, "and why?"), false, SESSION);
      assertThat(lastPrefill(cluster)).contains(NOTHING);
      end(cluster);
    }
  }

  @Test
  void keptTurnsCanBeDisabled() throws IOException {
    try (SplitCluster cluster = setup().set("turn-ttl", "off").start()) {
      ArrayNode first = asked(WORDS);
      String said = ask(cluster, first, false, SESSION);
      ask(cluster, next(first, said, "and why?"), false, SESSION);
      assertThat(lastPrefill(cluster)).contains(NOTHING);
      end(cluster);
    }
  }
}
