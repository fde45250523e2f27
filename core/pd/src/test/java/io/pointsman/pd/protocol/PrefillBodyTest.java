package io.pointsman.pd.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.protocol.ProtocolSettings.MinTokens;
import io.pointsman.request.Endpoint;
import io.pointsman.request.splice.Edits;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Prefill generates one token, without streaming, independent of the client's limits. */
class PrefillBodyTest {
  private static String prefill(MinTokens minTokens, Endpoint endpoint, String body) {
    PlannedExchange exchange =
        new PlannedExchange("transparent", ProtocolSettings.DEFAULTS.withMinTokens(minTokens));
    PdPlan.Sequential plan = exchange.sequential(endpoint, body);
    return Edits.edited(body, plan.prefill().edits());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "CHAT_COMPLETIONS|{\"a\":1.0}|{\"a\":1.0,\"max_tokens\":1,\"stream\":false}",
        "CHAT_COMPLETIONS"
            + "|{\"max_completion_tokens\":9,\"stream\":true,\"stream_options\":{\"x\":1},\"a\":0}"
            + "|{\"max_completion_tokens\":1,\"stream\":false,\"a\":0,\"max_tokens\":1}",
        "COMPLETIONS"
            + "|{\"prompt\":\"a\", \"max_tokens\": 200, \"min_tokens\": 5, \"stream\" : true}"
            + "|{\"prompt\":\"a\", \"max_tokens\": 1, \"stream\" : false}",
        "RESPONSES"
            + "|{\"input\":\"a\",\"max_output_tokens\":7,\"stream\":true}"
            + "|{\"input\":\"a\",\"max_output_tokens\":1,\"stream\":false,\"store\":false}",
        "RESPONSES|{\"store\":true,\"input\":\"a\"}"
            + "|{\"store\":false,\"input\":\"a\",\"max_output_tokens\":1,\"stream\":false}",
        "MESSAGES|{\"max_tokens\":7}|{\"max_tokens\":1,\"stream\":false}",
        "GENERATE"
            + "|{\"text\":\"a\",\"sampling_params\":{\"max_new_tokens\":7,\"min_new_tokens\":3}}"
            + "|{\"text\":\"a\",\"sampling_params\":{\"max_new_tokens\":1},"
            + "\"max_tokens\":1,\"stream\":false}",
        "TOKEN_GENERATE"
            + "|{\"token_ids\":[1,2],\"sampling_params\":{\"max_tokens\":9,\"min_tokens\":2}}"
            + "|{\"token_ids\":[1,2],\"sampling_params\":{\"max_tokens\":1},\"stream\":false}",
        "TOKEN_GENERATE|{\"token_ids\":[1]}"
            + "|{\"token_ids\":[1],\"sampling_params\":{\"max_tokens\":1},\"stream\":false}",
      })
  void limitsAreLoweredAndMinimaAreRemoved(Endpoint endpoint, String body, String expected) {
    assertThat(prefill(MinTokens.REMOVE, endpoint, body)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "COMPLETIONS|{\"prompt\":\"a\",\"min_tokens\":5}"
            + "|{\"prompt\":\"a\",\"min_tokens\":1,\"max_tokens\":1,\"stream\":false}",
        "CHAT_COMPLETIONS|{}|{\"max_tokens\":1,\"min_tokens\":1,\"stream\":false}",
        "TOKEN_GENERATE|{\"token_ids\":[1]}"
            + "|{\"token_ids\":[1],\"sampling_params\":{\"max_tokens\":1,\"min_tokens\":1},"
            + "\"stream\":false}",
        "RESPONSES|{\"input\":\"a\"}"
            + "|{\"input\":\"a\",\"max_output_tokens\":1,\"stream\":false,\"store\":false}",
      })
  void minimaCanBeSetToOneInstead(Endpoint endpoint, String body, String expected) {
    assertThat(prefill(MinTokens.ONE, endpoint, body)).isEqualTo(expected);
  }
}
