package io.pointsman.pd.body;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.request.Endpoint;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class SplitFactsReaderTest {
  private final SplitFactsReader reader = new SplitFactsReader();

  private SplitFacts read(Endpoint endpoint, String body) {
    byte[] bytes = ("   " + body).getBytes(UTF_8);
    return reader.read(endpoint, bytes, 3, bytes.length - 3, true);
  }

  private SplitFacts completion(String members) {
    return read(Endpoint.COMPLETIONS, "{" + members + "}");
  }

  private long tokens(Endpoint endpoint, String body) {
    return read(endpoint, body).tokens();
  }

  @Test
  void aPlainRequestCanBeSplit() {
    SplitFacts facts = completion("\"prompt\":\"hi\",\"n\":1,\"best_of\":1,\"echo\":false");

    assertThat(facts.unsplittable()).isNull();
    assertThat(facts.endpoint()).isEqualTo(PdEndpoint.COMPLETIONS);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"n\":2|SEVERAL_CHOICES",
        "\"n\":\"1\"|SEVERAL_CHOICES",
        "\"n\":1,\"n\":3|SEVERAL_CHOICES",
        "\"sampling_params\":{\"n\":2}|SEVERAL_CHOICES",
        "\"best_of\":4|SEVERAL_CHOICES",
        "\"use_beam_search\":true|BEAM_SEARCH",
        "\"echo\":true|ECHO",
        "\"prompt_logprobs\":0|PROMPT_LOGPROBS",
        "\"sampling_params\":{\"prompt_logprobs\":1}|PROMPT_LOGPROBS",
        "\"logprob_start_len\":0|PROMPT_LOGPROBS",
        "\"prompt\":[\"a\",\"b\"]|SEVERAL_PROMPTS",
        "\"prompt\":[[1],[2]]|SEVERAL_PROMPTS",
        "\"prompt\":\"a\",\"prompt_embeds\":\"b\"|SEVERAL_PROMPTS",
        "\"previous_response_id\":\"r\"|STORED",
        "\"conversation\":{\"id\":\"c\"}|STORED",
        "\"background\":true|BACKGROUND",
      })
  void unsplittableRequestsHaveTheirReason(String members, Unsplittable reason) {
    assertThat(completion(members).unsplittable()).isEqualTo(reason);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"n\":null",
        "\"prompt_logprobs\":null",
        "\"logprob_start_len\":-1",
        "\"use_beam_search\":false",
        "\"prompt\":[\"a\"]",
        "\"prompt\":[[1,2]]",
        "\"previous_response_id\":null",
        "\"x\":{\"n\":2,\"echo\":true}",
        "\"logprobs\":5"
      })
  void requestsThatOnlyLookUnsplittableAreSplit(String members) {
    assertThat(completion(members).unsplittable()).isNull();
  }

  @ParameterizedTest
  @EnumSource(
      value = Endpoint.class,
      names = {"EMBEDDINGS", "RERANK", "TOKENIZE", "TRANSPARENT", "RESPONSE_GET"})
  void otherRoutesAreNotSplit(Endpoint endpoint) {
    assertThat(read(endpoint, "{}").unsplittable()).isEqualTo(Unsplittable.ENDPOINT);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "{\"prompt\":\"hi\"", "\u001f\u008b"})
  void bodiesThatCannotBeEditedAreNotSplit(String body) {
    assertThat(read(Endpoint.COMPLETIONS, body).unsplittable()).isEqualTo(Unsplittable.UNREADABLE);
  }

  @Test
  void tokenPromptsAndLimitsAreRead() {
    SplitFacts facts =
        completion("\"prompt\":[1,2],\"max_tokens\":7,\"logprobs\":0,\"stream\":true");

    assertThat(facts.tokenPrompt()).isTrue();
    assertThat(facts.maxTokens()).isEqualTo(7);
    assertThat(facts.stream()).isTrue();
    assertThat(completion("\"prompt\":\"1\"").tokenPrompt()).isFalse();
    assertThat(completion("\"prompt\":\"1\"").maxTokens()).isEqualTo(SplitFacts.ABSENT);
    assertThat(completion("\"max_tokens\":7,\"max_completion_tokens\":5").maxTokens()).isEqualTo(5);
    assertThat(
            read(
                    Endpoint.TOKEN_GENERATE,
                    "{\"token_ids\":[1],\"sampling_params\":{\"max_tokens\":9}}")
                .maxTokens())
        .isEqualTo(9);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ",\"n\":1,\"best_of\":1,\"echo\":false,\"use_beam_search\":false",
        ",\"temperature\":0.5,\"top_p\":0.9,\"top_k\":40,\"min_p\":0.1,\"ignore_eos\":true",
        ",\"user\":\"u\",\"priority\":1,\"kv_transfer_params\":{\"lmcache.skip_save\":true}",
        ",\"stream\":true,\"stream_options\":{\"include_usage\":true}",
        ",\"max_tok\\u0065ns\":7"
      })
  void plainCompletionsOfTokenIdsAreRecognized(String more) {
    assertThat(completion("\"model\":\"m\",\"prompt\":[1,2]" + more).plain()).isTrue();
    assertThat(completion("\"model\":\"m\",\"prompt\":\"1\"" + more).plain()).isFalse();
  }

  /** The value does not matter; neither do unknown names differ from known ones. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "seed",
        "stop",
        "stop_token_ids",
        "include_stop_str_in_output",
        "min_tokens",
        "max_completion_tokens",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "length_penalty",
        "logit_bias",
        "logits_processors",
        "allowed_token_ids",
        "bad_words",
        "logprobs",
        "return_logprob",
        "return_token_ids",
        "return_tokens_as_token_ids",
        "detokenize",
        "skip_special_tokens",
        "spaces_between_special_tokens",
        "truncate_prompt_tokens",
        "add_special_tokens",
        "suffix",
        "response_format",
        "structured_outputs",
        "guided_json",
        "guided_regex",
        "guided_choice",
        "guided_grammar",
        "guided_decoding_backend",
        "tools",
        "tool_choice",
        "functions",
        "thinking_token_budget",
        "vllm_xargs",
        "sampling_params",
        "x",
        "",
        "Model"
      })
  void anyOtherMemberIsNotPlain(String name) {
    for (String value : new String[] {"1", "null", "{}"}) {
      assertThat(completion("\"prompt\":[1,2],\"%s\":%s".formatted(name, value)).plain())
          .as(name)
          .isFalse();
    }
  }

  @Test
  void fourCharactersCountAsOneTokenRoundedDown() {
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":\"1234567\"}")).isEqualTo(1);
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":\"12345678\"}")).isEqualTo(2);
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":[\"123\",\"45678\"]}")).isEqualTo(2);
    assertThat(tokens(Endpoint.GENERATE, "{\"text\":\"12345678\"}")).isEqualTo(2);
  }

  @Test
  void charactersAreCodePointsWithOrWithoutEscapes() {
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":\"中中中é\"}")).isEqualTo(1);
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":\"\\u4e2d\\n\\\"😀\"}")).isEqualTo(1);
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":\"\\ud83d\\uDE00abc\"}")).isEqualTo(1);
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":\"\\ud83d\\uDE00ab\"}")).isZero();
  }

  @Test
  void tokenIdsCountExactly() {
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":[1, 2,30000,4 ,5]}")).isEqualTo(5);
    assertThat(tokens(Endpoint.COMPLETIONS, "{\"prompt\":[[1,2],[3]]}")).isEqualTo(3);
    assertThat(tokens(Endpoint.TOKEN_GENERATE, "{\"token_ids\":[1,2,3]}")).isEqualTo(3);
  }

  @Test
  void onlyTheTextOfMessagesCounts() {
    String messages =
        "[{\"role\":\"system\",\"content\":\"1234\"},{\"role\":\"user\",\"content\":["
            + "{\"type\":\"text\",\"text\":\"5678\"},"
            + "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:xxxxxxxxxxxxxxxx\"}}]},"
            + "{\"content\":null,\"tool_calls\":[{\"id\":\"xxxxxxxxxxxx\"}]}]";

    assertThat(
            tokens(
                Endpoint.CHAT_COMPLETIONS,
                "{\"tools\":[{\"text\":\"xxxxxxxx\"}],\"messages\":" + messages + "}"))
        .isEqualTo(2);
    assertThat(
            tokens(
                Endpoint.RESPONSES,
                "{\"instructions\":\"1234\",\"input\":[{\"role\":\"user\",\"content\":"
                    + "[{\"type\":\"input_text\",\"text\":\"5678\"}]}]}"))
        .isEqualTo(2);
    assertThat(tokens(Endpoint.MESSAGES, "{\"system\":\"1234\",\"messages\":" + messages + "}"))
        .isEqualTo(3);
  }

  @Test
  void theEstimateIsMadeOnlyOnRequest() {
    byte[] body = "{\"prompt\":\"12345678\"}".getBytes(UTF_8);

    assertThat(reader.read(Endpoint.COMPLETIONS, body, 0, body.length, false).tokens())
        .isEqualTo(SplitFacts.ABSENT);
  }

  private static SplitFacts completion(PromptLists lists, String prompt) {
    byte[] bytes = ("{\"prompt\":" + prompt + "}").getBytes(UTF_8);
    return new SplitFactsReader(lists).read(Endpoint.COMPLETIONS, bytes, 0, bytes.length, true);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[\"abcdefgh\",\"b\",\"c\",\"d\",\"e\"]|3|5",
        "[\"abcdefghijkl\"]|3|1",
        "[1,2,3,4,5]|5|5",
        "[[1,2],[3,4],[5]]|5|3",
        "[[1,2,3]]|3|1",
        "[1,\"ab\",null,[2]]|2|4",
        "[]|0|0",
        "\"abcdefghijkl\"|3|3",
      })
  void aListOfPromptsIsSizedByContentOrByLength(String prompt, int content, int length) {
    assertThat(completion(PromptLists.DEFAULTS, prompt).tokens()).isEqualTo(content);
    assertThat(completion(new PromptLists(false, true), prompt).tokens()).isEqualTo(length);
  }

  @Test
  void partsOfMessagesCountByTheirTextWithBothSizes() {
    String body =
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"abcdefgh\"},"
            + "{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://e.example\"}}]}]}";
    byte[] bytes = body.getBytes(UTF_8);
    for (boolean byLength : new boolean[] {false, true}) {
      SplitFactsReader sized = new SplitFactsReader(new PromptLists(false, byLength));
      assertThat(sized.read(Endpoint.CHAT_COMPLETIONS, bytes, 0, bytes.length, true).tokens())
          .isEqualTo(2);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"[\"a\",\"b\"]", "[[1],[2]]"})
  void severalPromptsAreSplitIfEnginesFindBlocksByContent(String prompt) {
    assertThat(completion(new PromptLists(true, false), prompt).unsplittable()).isNull();
    assertThat(completion(PromptLists.DEFAULTS, prompt).unsplittable())
        .isEqualTo(Unsplittable.SEVERAL_PROMPTS);
  }

  @Test
  void twoMembersWithPromptsAreNeverSplit() {
    byte[] bytes = "{\"prompt\":\"a\",\"prompt_embeds\":\"b\"}".getBytes(UTF_8);
    assertThat(
            new SplitFactsReader(new PromptLists(true, false))
                .read(Endpoint.COMPLETIONS, bytes, 0, bytes.length, true)
                .unsplittable())
        .isEqualTo(Unsplittable.SEVERAL_PROMPTS);
  }
}
