package io.pointsman.request;

import static io.pointsman.request.Reading.read;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.AffinityKey.Kind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AffinityTest {
  private static @Nullable AffinityKey affinity(String body, String... headers) {
    return read(Endpoint.CHAT_COMPLETIONS, TestHeaders.of(headers), body).affinity();
  }

  private static AffinityKey session(String source, String value) {
    return new AffinityKey(Kind.SESSION, source, value);
  }

  @Test
  void theDocumentedOrderHolds() {
    List<String> headers =
        new ArrayList<>(
            List.of(
                "x-session-id",
                "x-claude-code-session-id",
                "session-id",
                "thread-id",
                "x-dynamo-session-id",
                "x-user-id",
                "x-tenant-id"));
    while (!headers.isEmpty()) {
      List<String> pairs = new ArrayList<>();
      for (String name : headers.reversed()) {
        pairs.addAll(List.of(name, "v"));
      }
      AffinityKey key = requireNonNull(affinity("{\"user\":\"u\"}", pairs.toArray(String[]::new)));
      assertThat(key.source()).isEqualTo("header:" + headers.removeFirst());
      assertThat(key.kind()).isEqualTo(Kind.SESSION);
    }
    List<String> fields =
        new ArrayList<>(
            List.of(
                "\"vllm_xargs\":{\"agentic_context\":{\"program_id\":\"v\"}}",
                "\"agent_hint\":{\"session_id\":\"v\"}",
                "\"session_params\":{\"x\":1,\"session_id\":\"v\",\"user_id\":\"v\"}",
                "\"conversation\":{\"id\":\"v\"}",
                "\"conversation\":\"v\"",
                "\"prompt_cache_key\":\"v\"",
                "\"user\":\"v\"",
                "\"session_id\":\"v\"",
                "\"user_id\":\"v\"",
                "\"metadata\":{\"a\":[1],\"user_id\":\"v\"}",
                "\"session_params\":{\"user_id\":\"v\"}",
                "\"safety_identifier\":\"v\""));
    for (String source :
        List.of(
            "body:vllm_xargs.agentic_context",
            "body:agent_hint.session_id",
            "body:session_params.session_id",
            "body:conversation.id",
            "body:conversation",
            "body:prompt_cache_key",
            "body:user",
            "body:session_id",
            "body:user_id",
            "body:metadata.user_id",
            "body:session_params.user_id",
            "body:safety_identifier")) {
      String body = "{" + String.join(",", fields.reversed()) + "}";
      assertThat(affinity(body, "x-request-id", "r")).isEqualTo(session(source, "v"));
      fields.removeFirst();
    }
    for (String name : List.of("x-correlation-id", "x-request-id", "x-trace-id")) {
      assertThat(affinity("{}", "x-trace-id", "r", name, "r", "x-request-id-2", "no"))
          .isEqualTo(new AffinityKey(Kind.REQUEST, "header:" + name, "r"));
    }
    assertThat(affinity("{\"model\":\"m\"}")).isNull();
  }

  private static @Nullable AffinityKey ofField(String field, String body, String... headers) {
    AffinitySettings all = AffinitySettings.DEFAULT;
    AffinitySettings only =
        new AffinitySettings("x-key", all.ownerHeaders(), all.requestHeaders(), field);
    byte[] bytes = body.getBytes(UTF_8);
    return new RequestReader(only)
        .read(Endpoint.CHAT_COMPLETIONS, TestHeaders.of(headers), bytes, 0, bytes.length, false)
        .affinity();
  }

  @Test
  void aConfiguredFieldIsTheOnlyOneBesideTheHeader() {
    String body = "{\"user\":\"u\",\"turn\":{\"of\":\"no\"},\"of\":42,\"session_id\":\"s\"}";
    assertThat(ofField("of", body, "x-tenant-id", "t")).isEqualTo(session("body:of", "42"));
    assertThat(ofField("of", body, "x-key", "k")).isEqualTo(session("header:x-key", "k"));
    assertThat(ofField("session_id", body, "thread-id", "t"))
        .isEqualTo(session("body:session_id", "s"));
    assertThat(ofField("other", body, "x-user-id", "t")).isNull();
    assertThat(ofField("turn", body)).isNull();
    assertThat(ofField("of", "{\"of\":1}")).isEqualTo(session("body:of", "1"));
  }

  @ParameterizedTest
  @CsvSource({"X-Session-ID", "x_session_id", "X-SESSION_id"})
  void headersMatchWithoutCaseAndWithDashesLikeUnderscores(String name) {
    assertThat(affinity("{}", name, "s1")).isEqualTo(session("header:x-session-id", "s1"));
  }

  @Test
  void theSessionHeaderIsConfigurable() {
    RequestReader reader =
        new RequestReader(AffinitySettings.DEFAULT.withSessionHeader("X-Correlation_ID"));
    byte[] body = "{}".getBytes(UTF_8);
    RequestFacts facts =
        reader.read(
            Endpoint.CHAT_COMPLETIONS,
            TestHeaders.of("x-user-id", "u", "x-correlation-id", "c"),
            body,
            0,
            body.length,
            false);
    assertThat(facts.affinity()).isEqualTo(session("header:x-correlation_id", "c"));
    assertThatThrownBy(() -> AffinitySettings.DEFAULT.withSessionHeader(" "))
        .hasMessageContaining("sessionHeader");
  }

  @Test
  void emptyValuesCountAsAbsent() {
    assertThat(affinity("{\"user\":\"u\"}", "x-session-id", "", "x-user-id", "  "))
        .isEqualTo(session("body:user", "u"));
    assertThat(affinity("{\"user\":\"\",\"session_id\":\" \",\"user_id\":3}"))
        .isEqualTo(session("body:user_id", "3"));
    assertThat(affinity("{}", "x-session-id", "", "X-Session-Id", "second"))
        .isEqualTo(session("header:x-session-id", "second"));
  }

  @Test
  void agentsOfOneSessionHaveDifferentKeys() {
    assertThat(affinity("{}", "x-claude-code-agent-id", "a", "x-claude-code-session-id", "s"))
        .isEqualTo(session("header:x-claude-code-session-id", "s/a"));
    assertThat(affinity("{}", "session-id", "s", "thread-id", "t"))
        .isEqualTo(session("header:session-id", "s/t"));
    assertThat(affinity("{}", "session_id", "s")).isEqualTo(session("header:session-id", "s"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{\"program_id\":\"p\",\"task_id\":\"t\",\"agent_id\":\"a\"}|p",
        "{\"task_id\":\"t\",\"session_id\":\"s\",\"agent_id\":\"a\"}|t/a",
        "{\"session_id\":\"s\",\"agent_id\":7}|s/7",
        "{\"session_id\":\"s\",\"x\":{\"program_id\":\"no\"}}|s",
        "\"{\\\"program_id\\\":\\\"p\\\\u0041\\\"}\"|pA",
        "\"not json\"|u",
        "{\"agent_id\":\"a\"}|u",
        "17|u",
        "\"\"|u",
      })
  void anAgenticContextNamesTheProgram(String context, String expected) {
    String body = "{\"vllm_xargs\":{\"agentic_context\":" + context + "},\"user\":\"u\"}";
    assertThat(requireNonNull(affinity(body)).value()).isEqualTo(expected);
  }

  @Test
  void anAgenticContextBeyondItsLimitIsIgnored() {
    String context = "{\"program_id\":\"p\",\"x\":\"" + "y".repeat(16 * 1024) + "\"}";
    assertThat(affinity("{\"vllm_xargs\":{\"agentic_context\":" + context + "}}")).isNull();
  }

  @Test
  void identitiesAreReadOnlyAtTheirProperPlace() {
    String text = "\\\"user\\\": \\\"x\\\", \\\"session_id\\\": \\\"y\\\"";
    String chat =
        "{\"messages\":[{\"role\":\"user\",\"user\":\"no\",\"content\":\"" + text + "\"}]}";
    assertThat(affinity(chat)).isNull();
    assertThat(affinity("{\"user\":{\"id\":\"x\"},\"session_params\":\"s\"}")).isNull();
    assertThat(affinity("{\"user\":true,\"session_id\":null,\"user_id\":[\"x\"]}")).isNull();
  }

  @Test
  void theLastOfDuplicateIdentitiesCounts() {
    assertThat(affinity("{\"user\":\"a\",\"user\":\"b\"}")).isEqualTo(session("body:user", "b"));
    assertThat(
            affinity(
                "{\"session_params\":{\"session_id\":\"a\"},\"session_params\":{},\"user\":\"b\"}"))
        .isEqualTo(session("body:user", "b"));
  }

  @Test
  void longIdentitiesAreKeptAsAHash() {
    String kept = "a".repeat(256);
    assertThat(affinity("{\"user\":\"" + kept + "\"}")).isEqualTo(session("body:user", kept));
    for (int length : new int[] {257, 5000, 100_000}) {
      AffinityKey one = requireNonNull(affinity("{\"user\":\"" + "a".repeat(length) + "\"}"));
      AffinityKey other =
          requireNonNull(affinity("{\"user\":\"b" + "a".repeat(length - 1) + "\"}"));
      assertThat(one.value()).hasSizeLessThan(32).isNotEqualTo(other.value());
      assertThat(affinity("{}", "x-user-id", "a".repeat(length)))
          .satisfies(key -> assertThat(requireNonNull(key).value()).hasSizeLessThan(32));
    }
  }

  @Test
  void valuesOtherThanTextAndNumberNameNoSession() {
    for (int length : new int[] {1, 100_000}) {
      String object = "{\"user\":{\"x\":\"" + "a".repeat(length) + "\"},\"user_id\":\"b\"}";
      assertThat(affinity(object)).isEqualTo(session("body:user_id", "b"));
    }
  }

  @Test
  void headersCountOnRoutesWithoutABodyToo() {
    RequestFacts facts = read(Endpoint.RESPONSE_GET, TestHeaders.of("x-session-id", "s"), "");
    assertThat(facts.affinity()).isEqualTo(session("header:x-session-id", "s"));
  }
}
