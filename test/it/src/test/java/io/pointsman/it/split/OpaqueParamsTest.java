package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Prefill's description of its blocks reaches decode byte for byte. */
@Timeout(180)
@Tag("full")
final class OpaqueParamsTest {
  /** Unknown names, nesting, odd spaces, unusual numbers, escapes. */
  private static final String PARAMS =
      "{ \"do_remote_prefill\" :true,\t\"remote_block_ids\":[[1,  2],\n [ ]],"
          + "\"remote_host\":\"10.9.8.7\",\"x_unknown\":{\"deep\":[{\"er\":{}},null, true]},"
          + "\"n1\":1.50,\"n2\":1e5,\"n3\":12345678901234567890,\"n4\":-0.0,\"n5\":1E-07,"
          + "\"s\":\"\\u00e9\\/é\\ud83d\\ude00\",\"\":\"\",\"twice\":1,\"twice\":2.0 \r\n}";

  /** The same kinds of oddities in the client's request. */
  private static final String ODD =
      " \"temperature\":1.50 ,\"seed\":12345678901234567890,\t\"x\":{ \"a\":[1e5 ,{}] },"
          + "\"user\":\"\\u00e9\\/é\"";

  private static final EngineScript WHOLE =
      new Faults.Answer(
          200,
          "{\"id\":\"c\",\"choices\":[{\"index\":0,\"text\":\"x\",\"message\":{\"content\":\"x\"},"
              + "\"finish_reason\":\"length\"}]}");

  private static final EngineScript EVENTS =
      new Faults.EventStream(List.of("{\"choices\":[{\"index\":0,\"text\":\"x\"}]}"));

  private static String answer(String params) {
    return "{\"id\":\"p\",\"choices\":[{\"index\":0,\"text\":\"x\",\"finish_reason\":\"length\"}],\n"
               + " \"kv_transfer_params\" : "
        + params
        + " ,\"usage\":null}";
  }

  private static String input(String path) {
    return path.contains("chat")
        ? "\"messages\":[ {\"content\":\"so many words\",\"role\" :\"user\"}]"
        : "\"prompt\" : \"so many words\"";
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/completions,false",
    "/v1/completions,true",
    "/v1/chat/completions,false",
    "/v1/chat/completions,true"
  })
  void paramsAndBodyKeepTheirBytes(String path, boolean stream) throws IOException {
    String open =
        "{\"model\":\"sim\","
            + input(path)
            + ","
            + ODD
            + ",\"stream\": "
            + stream
            + ",\"max_tokens\":  9";
    try (ScriptedPair pair =
        new ScriptedPair("  protocol: nixl\n", answer(PARAMS), stream ? EVENTS : WHOLE)) {
      pair.post(path, open + " }");
      assertThat(pair.prefillBody()).contains(ODD);
      assertThat(pair.decodeBodies()).hasSize(1);
      assertThat(pair.decodeBodies().getFirst())
          .satisfiesAnyOf(
              sent -> assertThat(sent).isEqualTo(open + ",\"kv_transfer_params\":" + PARAMS + " }"),
              sent ->
                  assertThat(sent).isEqualTo(open + " ,\"kv_transfer_params\":" + PARAMS + "}"));
    }
  }

  /** Only the client's own member is replaced, in its position. */
  @Test
  void theClientsOwnParamsAreReplaced() throws IOException {
    String before = "{\"model\":\"sim\"," + input("/v1/completions") + ",\"kv_transfer_params\":";
    String after = "," + ODD + ",\"max_tokens\":9}";
    try (ScriptedPair pair = new ScriptedPair("  protocol: nixl\n", answer(PARAMS), WHOLE)) {
      pair.post("/v1/completions", before + "{\"remote_host\":\"10.6.6.6\"}" + after);
      assertThat(pair.decodeBodies()).containsExactly(before + PARAMS + after);
      assertThat(pair.prefillBody()).doesNotContain("10.6.6.6");
    }
  }

  /** Only a host that means the engine's own machine is replaced, and nothing else. */
  @Test
  void onlyTheLoopbackHostIsReplaced() throws IOException {
    String local = PARAMS.replace("10.9.8.7", "localhost");
    String open =
        "{\"model\":\"sim\"," + input("/v1/completions") + "," + ODD + ",\"max_tokens\":9";
    try (ScriptedPair pair =
        new ScriptedPair(
            "  protocol: nixl\n  remote-host: replace-if-loopback\n", answer(local), WHOLE)) {
      pair.post("/v1/completions", open + "}");
      String sent = local.replace("\"localhost\"", "\"127.0.0.1\"");
      assertThat(pair.decodeBodies())
          .containsExactly(open + ",\"kv_transfer_params\":" + sent + "}");
    }
  }
}
