package io.pointsman.tool.bench.live;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.sim.text.ChatTemplate;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class TracePromptsTest {
  private static final int BLOCK = 512;

  private static int[] tokens(int input, long... blocks) throws Exception {
    TraceRequest request = new TraceRequest(0, -1, input, 7, blocks);
    byte[] body = TracePrompts.chat(new Trace("t", BLOCK, List.of(request)), request);
    JsonNode chat = new ObjectMapper().readTree(body);
    assertThat(chat.get("max_tokens").asInt()).isEqualTo(7);
    assertThat(chat.get("stream").asBoolean()).isTrue();
    JsonNode none = chat.path("none");
    return ChatTemplate.render(none, none, chat.get("messages"), new int[0]);
  }

  @Test
  void promptsHaveTheTokenCountOfTheTrace() throws Exception {
    assertThat(tokens(4, 1)).hasSize(4);
    assertThat(tokens(500, 1)).hasSize(500);
    assertThat(tokens(1200, 1, 2, 3)).hasSize(1200);
    // The trace has fewer hashes than the prompt has blocks.
    assertThat(tokens(1200, 1)).hasSize(1200);
    assertThat(tokens(100)).hasSize(100);
  }

  @Test
  void textsAreEqualAsLongAsHashesAre() throws Exception {
    int[] one = tokens(2000, 1, 2, 3, 4);
    int[] other = tokens(2000, 1, 2, 5, 4);
    // The chat template begins with one token.
    assertThat(Arrays.mismatch(one, other)).isEqualTo(1 + 2 * BLOCK);
    assertThat(Arrays.mismatch(tokens(2000, 1, 2, 3, 4), one)).isEqualTo(-1);
    assertThat(Arrays.mismatch(tokens(600, 1, 2), one)).isEqualTo(600 - 2);
  }
}
