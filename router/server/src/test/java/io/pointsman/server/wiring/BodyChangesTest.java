package io.pointsman.server.wiring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.policy.WantedFields;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestReader;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.splice.Splice;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class BodyChangesTest {
  private final RequestReader reader =
      new RequestReader(
          AffinitySettings.DEFAULT,
          new WantedFields(Set.of("x-request-priority"), Set.of("priority")));

  private static BodyChanges changes(String policy) {
    ConfigValues values = new ConfigValues();
    values.set(RoutingKeys.MODEL_ALIASES, Map.of("gpt-4", "llama"));
    values.set(RoutingKeys.POLICY, policy);
    return new BodyChanges(PointsmanConfig.from(values));
  }

  private String changed(BodyChanges changes, String priority, String body, boolean whole) {
    byte[] bytes = body.getBytes(UTF_8);
    Map<String, List<String>> headers =
        priority.isEmpty() ? Map.of() : Map.of("X-Request-Priority", List.of(priority));
    RequestFacts facts =
        reader.read(
            Endpoint.CHAT_COMPLETIONS, new ListedHeaders(headers), bytes, 0, bytes.length, !whole);
    Splice splice = changes.edit(facts, bytes, bytes.length, whole);
    return splice == null ? "unchanged" : new String(splice.toBytes(bytes, 0), UTF_8);
  }

  @Test
  void anAliasBecomesItsModelAlsoInAPartOfABody() {
    BodyChanges changes = changes("cost");
    assertThat(changed(changes, "3", "{ \"model\" : \"gpt-4\", \"n\":1.0}", true))
        .isEqualTo("{ \"model\" : \"llama\", \"n\":1.0}");
    assertThat(changed(changes, "", "{\"model\":\"gpt-4\",\"messages\":[", false))
        .isEqualTo("{\"model\":\"llama\",\"messages\":[");
    assertThat(changed(changes, "", "{\"model\":\"llama\"}", true)).isEqualTo("unchanged");
  }

  @Test
  void anAliasInAQueryBecomesItsModel() {
    BodyChanges changes = changes("cost");
    assertThat(target(changes, "/v1/realtime?model=gpt-4")).isEqualTo("/v1/realtime?model=llama");
    assertThat(target(changes, "/v1/realtime?model=llama")).isNull();
    assertThat(target(changes, "/v1/realtime")).isNull();
  }

  private @Nullable String target(BodyChanges changes, String target) {
    RequestFacts facts =
        reader.read(Endpoint.REALTIME, new ListedHeaders(Map.of()), new byte[0], 0, 0, false);
    return changes.editTarget(facts.at(target), target);
  }

  @Test
  void aliasesChangeAtRunTime() {
    BodyChanges changes = changes("cost");
    changes.aliases(Map.of("x", "y"));
    assertThat(changed(changes, "", "{\"model\":\"gpt-4\"}", true)).isEqualTo("unchanged");
    assertThat(changed(changes, "", "{\"model\":\"x\"}", true)).isEqualTo("{\"model\":\"y\"}");
  }

  @Test
  void configuredAliasesWinOverDiscoveredOnes() {
    BodyChanges changes = changes("cost");
    changes.discovered(Map.of("gpt-4", "other", "fast", "small"));
    assertThat(changed(changes, "", "{\"model\":\"gpt-4\"}", true))
        .isEqualTo("{\"model\":\"llama\"}");
    assertThat(changed(changes, "", "{\"model\":\"fast\"}", true))
        .isEqualTo("{\"model\":\"small\"}");
    changes.aliases(Map.of());
    assertThat(changes.aliases()).isEqualTo(Map.of("gpt-4", "other", "fast", "small"));
    changes.discovered(Map.of());
    assertThat(changes.aliases()).isEmpty();
  }

  @Test
  void thePriorityOfTheHeaderIsPutIntoTheBody() {
    BodyChanges changes = changes("priority");
    assertThat(changed(changes, "-2", "{\"model\":\"gpt-4\"}", true))
        .isEqualTo("{\"model\":\"llama\",\"priority\":-2}");
    assertThat(changed(changes, "-2", "{\"model\":\"m\",\"priority\": 5}", true))
        .isEqualTo("{\"model\":\"m\",\"priority\": -2}");
    assertThat(changed(changes, "", "{\"model\":\"m\",\"priority\": 5}", true))
        .isEqualTo("unchanged");
    assertThat(changed(changes, "", "{\"model\":\"m\"}", true)).isEqualTo("unchanged");
  }
}
