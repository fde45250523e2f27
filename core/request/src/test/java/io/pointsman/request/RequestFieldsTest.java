package io.pointsman.request;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.WantedFields;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RequestFieldsTest {
  private static final Set<String> EVERY = Set.of(WantedFields.ALL);
  private static final String BODY =
      """
      {"model": "m", "user": "\\u00e9va", "n": 3, "temperature": 0.5, "stream": true, "stop": null,
       "metadata": {"tier": "gold", "ids": [1, "b", null, false]}, "messages": []}\
      """;

  private record Headers(List<Map.Entry<String, String>> all) implements RequestHeaders {
    @Override
    public @Nullable String first(String lowerCaseName) {
      return null;
    }

    @Override
    public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
      all.forEach(header -> each.accept(header.getKey(), header.getValue()));
    }
  }

  private static final Headers HEADERS =
      new Headers(
          List.of(
              Map.entry("X-Tenant", "a"),
              Map.entry("x-tenant", "b"),
              Map.entry("Authorization", "Bearer k")));

  private static RequestFacts read(
      WantedFields wanted, Endpoint endpoint, String body, int length) {
    byte[] padded = ("xyz" + body).getBytes(UTF_8);
    boolean truncated = length < padded.length - 3;
    return new RequestReader(AffinitySettings.DEFAULT, wanted)
        .read(endpoint, HEADERS, padded, 3, Math.min(length, padded.length - 3), truncated)
        .at("/v1/x?y=1");
  }

  private static RequestFields fields(WantedFields wanted, String body) {
    return read(wanted, Endpoint.CHAT_COMPLETIONS, body, Integer.MAX_VALUE).fields();
  }

  @Test
  void nothingIsReadIfNoPolicyRequestsFields() {
    RequestFacts facts =
        read(WantedFields.NONE, Endpoint.CHAT_COMPLETIONS, BODY, Integer.MAX_VALUE);
    assertThat(facts.fields()).isSameAs(RequestFields.NONE);
    assertThat(facts.toRoutingRequest(Role.REGULAR).fields()).isSameAs(RequestFields.NONE);
  }

  @Test
  void onlyRequestedFieldsAreRead() {
    RequestFields fields =
        fields(new WantedFields(Set.of("X-TENANT"), Set.of("user", "none")), BODY);
    assertThat(fields.headers()).isEqualTo(Map.of("x-tenant", "a"));
    assertThat(fields.header("X-Tenant")).isEqualTo("a");
    assertThat(fields.header("authorization")).isNull();
    assertThat(fields.body()).isEqualTo(Map.of("user", "\u00e9va"));
    assertThat(fields.path()).isEqualTo("/v1/x?y=1");
    assertThat(fields.whole()).isTrue();
  }

  @Test
  void allFieldsCanBeRequested() {
    RequestFields fields = fields(new WantedFields(EVERY, EVERY), BODY);
    assertThat(fields.header("authorization")).isEqualTo("Bearer k");
    assertThat(fields.body())
        .containsOnlyKeys("model", "user", "n", "temperature", "stream", "metadata", "messages");
    assertThat(fields.field("n")).isEqualTo(3L);
    assertThat(fields.field("temperature")).isEqualTo(0.5);
    assertThat(fields.field("stream")).isEqualTo(true);
    assertThat(fields.field("stop")).isNull();
    assertThat(fields.field("messages")).isEqualTo(List.of());
    assertThat(fields.field("metadata"))
        .isEqualTo(Map.of("tier", "gold", "ids", Arrays.asList(1L, "b", null, false)));
    assertThat(fields.toString()).contains("authorization").doesNotContain("Bearer");
  }

  @Test
  void theLastOfDuplicateMembersCounts() {
    WantedFields wanted = new WantedFields(Set.of(), Set.of("user"));
    assertThat(fields(wanted, "{\"user\":1,\"u\\u0073er\":2}").field("user")).isEqualTo(2L);
    assertThat(fields(wanted, "{\"user\":1,\"user\":null}").field("user")).isNull();
  }

  @Test
  void cutValuesAreAbsent() {
    WantedFields wanted = new WantedFields(Set.of(), EVERY);
    RequestFields fields =
        read(wanted, Endpoint.CHAT_COMPLETIONS, BODY, BODY.indexOf("gold")).fields();
    assertThat(fields.whole()).isFalse();
    assertThat(fields.body()).containsKeys("user", "stream").doesNotContainKey("metadata");
  }

  @Test
  void bodiesThatAreNoObjectHaveNoFields() {
    WantedFields wanted = new WantedFields(EVERY, EVERY);
    for (String body : List.of("", "[1]", "{\"a\":", "{\"a\":1}}", "a=b")) {
      RequestFields fields = read(wanted, Endpoint.TRANSPARENT, body, Integer.MAX_VALUE).fields();
      assertThat(fields.body()).as(body).isEmpty();
      assertThat(fields.header("x-tenant")).isEqualTo("a");
    }
  }

  @Test
  void deeplyNestedValuesAreAbsent() {
    WantedFields wanted = new WantedFields(Set.of(), EVERY);
    String deep = "{\"a\":" + "[".repeat(10_000) + "]".repeat(10_000) + ",\"b\":1}";
    assertThat(fields(wanted, deep).field("b")).isEqualTo(1L);
  }

  @Test
  void longNumbersAreReadApproximately() {
    WantedFields wanted = new WantedFields(Set.of(), EVERY);
    String body = "{\"a\":-12,\"b\":" + "9".repeat(30) + ",\"c\":1e3,\"d\":NaN}";
    assertThat(fields(wanted, body).body())
        .isEqualTo(Map.of("a", -12L, "b", 1e30, "c", 1000.0, "d", Double.NaN));
  }

  @Test
  void fieldsOfSeveralPoliciesAreCombined() {
    WantedFields both =
        new WantedFields(Set.of("A"), Set.of("x")).and(new WantedFields(Set.of("b"), Set.of("Y")));
    assertThat(both).isEqualTo(new WantedFields(Set.of("a", "b"), Set.of("x", "Y")));
  }
}
