package io.pointsman.pd.body;

import static io.pointsman.request.Reading.chat;
import static io.pointsman.request.Reading.quoted;
import static io.pointsman.request.Reading.read;
import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.request.BodyVerdict.Kind;
import io.pointsman.request.Endpoint;
import io.pointsman.request.Reading;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.TestHeaders;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class BodyFactsTest {
  private static final Set<String> MODELS = new TreeSet<>(Set.of("a", "b"));

  @Test
  void modelAndStreamAreReadWithTheirSpans() {
    String body =
        """
        {"messages":[{"role":"user","content":"{\\"model\\":\\"no\\"}"}],
         "model" : "llama\\/8b" , "stream": true}\
        """;
    RequestFacts facts = chat(body);
    assertThat(facts.model()).isEqualTo("llama/8b");
    assertThat(facts.stream()).isTrue();
    assertThat(facts.body().kind()).isEqualTo(Kind.OBJECT);
    assertThat(facts.refusal()).isNull();
    assertThat(quoted(body.getBytes(UTF_8), facts.modelSpan())).isEqualTo("\"llama\\/8b\"");
    assertThat(quoted(body.getBytes(UTF_8), facts.streamSpan())).isEqualTo("true");
  }

  @Test
  void namesWithEscapesAreFound() {
    RequestFacts facts = chat("{\"mod\\u0065l\":\"a\",\"\\u0073tream\":true}");
    assertThat(facts.model()).isEqualTo("a");
    assertThat(facts.stream()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"true", "1", "1.0", "\"true\"", "\"True\"", "\"on\"", "\"\\u0079es\""})
  void valuesThatEnginesReadAsTrueRequestAStream(String value) {
    String body = "{\"prompt\":\"a\",\"stream\":" + value + "}";
    assertThat(Reading.read(Endpoint.COMPLETIONS, body).stream()).isTrue();
    assertThat(split(body).stream()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"false", "0", "null", "\"false\"", "\"\"", "11", "[1]", "{}", "\"no\""})
  void valuesThatEnginesReadAsFalseOrRefuseRequestNoStream(String value) {
    String body = "{\"prompt\":\"a\",\"stream\":" + value + "}";
    assertThat(Reading.read(Endpoint.COMPLETIONS, body).stream()).isFalse();
    assertThat(split(body).stream()).isFalse();
  }

  private static SplitFacts split(String body) {
    byte[] bytes = body.getBytes(UTF_8);
    return new SplitFactsReader().read(Endpoint.COMPLETIONS, bytes, 0, bytes.length, false);
  }

  @Test
  void theLastOfDuplicateFieldsCounts() {
    RequestFacts facts =
        chat("{\"model\":\"a\",\"stream\":true,\"user\":\"u\",\"model\":\"b\",\"stream\":false}");
    assertThat(facts.model()).isEqualTo("b");
    assertThat(facts.stream()).isFalse();
    assertThat(chat("{\"model\":\"a\",\"model\":7}").model()).isNull();
  }

  @Test
  void nestedFieldsAreNotRead() {
    RequestFacts facts = chat("{\"metadata\":{\"model\":\"x\",\"stream\":true,\"user\":\"u\"}}");
    assertThat(facts.model()).isNull();
    assertThat(facts.stream()).isFalse();
    assertThat(facts.affinity()).isNull();
  }

  @Test
  void aByteOrderMarkAndWhiteSpaceAreSkipped() {
    RequestFacts facts = chat("\uFEFF \r\n\t{ \"model\" \n:\t\"a\"\r } \n");
    assertThat(facts.model()).isEqualTo("a");
    assertThat(facts.body().kind()).isEqualTo(Kind.OBJECT);
  }

  @Test
  void anEmptyModelIsNone() {
    assertThat(chat("{\"model\":\"\"}").model()).isNull();
    assertThat(chat("{\"model\":null}").model()).isNull();
  }

  @Test
  void theContinuedResponseIsRead() {
    RequestFacts facts =
        read(Endpoint.RESPONSES, "{\"previous_response_id\":\"resp_9\",\"input\":\"go on\"}");
    assertThat(facts.responseId()).isEqualTo("resp_9");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"a\":1,}|7",
        "{\"a\" 1}|5",
        "{\"a\":1 \"b\":2}|7",
        "{a:1}|1",
        "{\"a\":[1,]}|8",
        "{\"a\":[1 2]}|8",
        "{\"a\":[1}|7",
        "{\"a\":tru}|5",
        "{\"a\":1.2.x}|5",
        "{\"a\":'x'}|5",
        "{\"a\":1}}|7",
        "{\"a\":1} x|8",
        "{\"a\":1|6",
        "{\"a\":\"x|7",
        "{|1",
        "[|1",
        "nul|3",
        "hello|0",
      })
  void malformedJsonIsRefusedWithItsPosition(String body, int position) {
    RequestFacts facts = chat(body);
    assertThat(facts.body().kind()).isEqualTo(Kind.MALFORMED);
    assertThat(facts.body().position()).isEqualTo(position);
    assertThat(facts.refusal()).contains("at byte " + position).contains(facts.body().reason());
    assertThat(read(Endpoint.TRANSPARENT, body).refusal()).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"[]", "12", "\"x\"", "null", "[{\"model\":\"a\"}]", " true "})
  void jsonThatIsNoObjectIsRefused(String body) {
    RequestFacts facts = chat(body);
    assertThat(facts.body().kind()).isEqualTo(Kind.NOT_OBJECT);
    assertThat(facts.refusal()).contains("expected: a JSON object");
    assertThat(facts.model()).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\n\n"})
  void anEmptyBodyIsRefusedWhereJsonIsExpected(String body) {
    assertThat(chat(body).body().kind()).isEqualTo(Kind.EMPTY);
    assertThat(chat(body).refusal()).contains("empty");
    assertThat(read(Endpoint.TRANSPARENT, body).refusal()).isNull();
    assertThat(read(Endpoint.RESPONSE_CANCEL, body).refusal()).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"a\":NaN,\"b\":-Infinity,\"c\":Infinity,\"d\":-0.0e-12,\"e\":1E400}",
        "{\"seed\":123456789012345678901234567890123456789012345678901234567890}",
        "{\"logit_bias\":{}, \"stop\":[], \"x\":[[],{}], \"y\":{\"\":\"\"}}",
      })
  void unusualButAcceptedValuesPass(String body) {
    assertThat(chat(body).body().kind()).isEqualTo(Kind.OBJECT);
  }

  @Test
  void aCompressedBodyIsNotRead() {
    RequestFacts facts =
        read(
            Endpoint.CHAT_COMPLETIONS,
            TestHeaders.of("Content-Encoding", "gzip", "x-session-id", "s"),
            "{\"model\":\"a\"}");
    assertThat(facts.body().kind()).isEqualTo(Kind.OPAQUE);
    assertThat(facts.model()).isNull();
    assertThat(facts.refusal()).isNull();
    assertThat(facts.affinity()).isNotNull();
  }

  @Test
  void theHeaderNamesTheModelOfABodyThatIsNotRead() {
    RequestHeaders headers =
        TestHeaders.of("content-encoding", "gzip", "serve_multiplexed_model_id", "a");
    assertThat(read(Endpoint.CHAT_COMPLETIONS, headers, "...").model()).isEqualTo("a");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"prompt\":\"x\"}|missing",
        "{\"model\":7}|not a string",
        "{\"model\":\"a\",}|not a string",
        "[1]|missing"
      })
  void aRefusalWithoutAModelListsTheModels(String body, String said) {
    RequestFacts facts = chat(body);
    assertThat(facts.unnamed(MODELS, RequestFacts.WHOLE))
        .isEqualTo("model: " + said + " (expected: one of a, b)");
    assertThat(facts.unnamed(Set.of(), RequestFacts.WHOLE)).isNull();
    assertThat(read(Endpoint.TRANSPARENT, body).unnamed(MODELS, RequestFacts.WHOLE)).isNull();
    assertThat(read(Endpoint.RESPONSE_CANCEL, body).unnamed(MODELS, RequestFacts.WHOLE)).isNull();
  }

  @Test
  void aRefusalListsOnlyTheFirstOfManyModels() {
    Set<String> many = new LinkedHashSet<>();
    for (int i = 1; i <= 20; i++) {
      many.add("m" + i);
    }
    assertThat(chat("{}").unnamed(many, RequestFacts.WHOLE)).endsWith(", m19, m20)");
    for (int i = 21; i <= 5_000; i++) {
      many.add("m" + i);
    }
    assertThat(chat("{}").unnamed(many, RequestFacts.WHOLE))
        .startsWith("model: missing (expected: one of m1, m2, ")
        .endsWith(", m19, m20 and 4980 others)");
  }

  @Test
  void aRefusalOfACutBodyNamesTheBytesThatWereRead() {
    byte[] head = "{\"prompt\":\"word".getBytes(UTF_8);
    RequestFacts facts = read(Endpoint.COMPLETIONS, TestHeaders.NONE, head, true);
    assertThat(facts.unnamed(MODELS, head.length))
        .isEqualTo(
            "model: not in the first 15 bytes of the body (expected: one of a, b, there or in the"
                + " header serve_multiplexed_model_id)");
    assertThat(chat("{\"model\":\"c\"}").unnamed(MODELS, RequestFacts.WHOLE)).isNull();
  }

  @Test
  void nestingHasNoLimit() {
    for (int depth : new int[] {1, 63, 64, 65, 127, 128, 129, 1000, 100_000}) {
      for (String[] pair : new String[][] {{"[", "]"}, {"{\"a\":", "}"}}) {
        String inner = pair[0].repeat(depth) + "1" + pair[1].repeat(depth);
        String body = "{\"messages\":" + inner + ",\"x\":" + inner + ",\"model\":\"m\"}";
        assertThat(chat(body).model()).isEqualTo("m");
        String crossed = "{\"x\":" + pair[0].repeat(depth) + "1]}]}";
        assertThat(chat(crossed).body().kind()).isEqualTo(Kind.MALFORMED);
      }
      assertThat(chat("{\"a\":" + "[".repeat(depth)).body().kind()).isEqualTo(Kind.MALFORMED);
    }
  }

  @Test
  void factsOfATruncatedBodyAreRead() {
    String body =
        "{\"model\":\"llama\",\"stream\":true,\"user\":\"u1\",\"n\":[1,{\"b\":null}],\"messages\":"
            + "[{\"role\":\"user\",\"content\":\""
            + "long text \\\" ".repeat(30)
            + "\"}]}";
    byte[] bytes = body.getBytes(UTF_8);
    RequestFacts whole = chat(body);
    for (int length = 0; length <= bytes.length; length++) {
      byte[] head = Arrays.copyOf(bytes, length);
      RequestFacts facts = read(Endpoint.CHAT_COMPLETIONS, TestHeaders.NONE, head, true);
      assertThat(facts.body().kind()).isEqualTo(Kind.TRUNCATED);
      assertThat(facts.refusal()).isNull();
      assertThat(facts.model()).isEqualTo(length < 16 ? null : "llama");
      assertThat(facts.stream()).isEqualTo(length > 30);
      assertThat(facts.affinity() == null).isEqualTo(length < 42);
      assertThat(facts.prefix().count()).isBetween(0, whole.prefix().count());
      assertThat(chat(new String(head, UTF_8)).body().kind())
          .isEqualTo(
              length == 0 ? Kind.EMPTY : length < bytes.length ? Kind.MALFORMED : Kind.OBJECT);
    }
  }

  @Test
  void anErrorBeforeTheCutIsStillAnError() {
    byte[] head = "{\"model\":\"a\",oops \"b\":".getBytes(UTF_8);
    assertThat(read(Endpoint.CHAT_COMPLETIONS, TestHeaders.NONE, head, true).body().kind())
        .isEqualTo(Kind.MALFORMED);
  }

  @Test
  void anyBytesAreReadWithoutAnException() {
    Random random = new Random(7);
    byte[] alphabet = "{}[]\":,\\u0 12tfn\u00e9model".getBytes(UTF_8);
    for (int i = 0; i < 200_000; i++) {
      byte[] body = new byte[random.nextInt(40)];
      random.nextBytes(body);
      if (i % 4 != 0) {
        for (int at = 0; at < body.length; at++) {
          body[at] = alphabet[(body[at] & 0xFF) % alphabet.length];
        }
      }
      List<Endpoint> endpoints = List.of(Endpoint.values());
      Endpoint endpoint = endpoints.get(i % endpoints.size());
      RequestFacts facts = read(endpoint, TestHeaders.NONE, body, i % 3 == 0);
      assertThat(facts.body().position()).isBetween(0, body.length);
    }
  }

  @Test
  void aMutatedBodyIsReadWithoutAnException() {
    byte[] sample =
        """
        {"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi\\n"},
        {"type":"image_url","image_url":{"url":"data:x"}}]}],"tools":[{"a":[1,2,{"b":null}]}],
        "prompt":[[1,2,3],[4]],"session_params":{"session_id":"s"},
        "vllm_xargs":{"agentic_context":"{\\"program_id\\":\\"p\\"}"}}
        """
            .getBytes(UTF_8);
    Random random = new Random(11);
    for (int i = 0; i < 100_000; i++) {
      byte[] body = sample.clone();
      for (int change = 0; change <= i % 4; change++) {
        body[random.nextInt(body.length)] = sample[random.nextInt(sample.length)];
      }
      assertThat(read(Endpoint.TRANSPARENT, TestHeaders.NONE, body, false)).isNotNull();
    }
  }

  @Test
  void invalidUtf8IsAccepted() {
    byte[] body = "{\"\u00ff\u00fe\":\"\u00c3\",\"model\":\"m\u00ff\"}".getBytes(ISO_8859_1);
    RequestFacts facts = read(Endpoint.CHAT_COMPLETIONS, TestHeaders.NONE, body, false);
    assertThat(facts.body().kind()).isEqualTo(Kind.OBJECT);
    assertThat(facts.model()).startsWith("m");
  }

  @Test
  void fieldsAfterAHugePromptAreFound() {
    String text = "0123456789abcdef".repeat(700_000);
    RequestFacts facts = chat("{\"messages\":[{\"content\":\"" + text + "\"}],\"model\":\"m\"}");
    assertThat(facts.model()).isEqualTo("m");
    assertThat(facts.prefix().tokens()).isEqualTo(text.length() / 4);
  }
}
