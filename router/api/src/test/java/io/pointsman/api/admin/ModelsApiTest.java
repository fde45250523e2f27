package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.json;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.LocalResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ModelsApiTest {
  private final AdminFixture admin = new AdminFixture();

  private void says(Worker worker, String body) {
    admin.cards.learned(worker, body.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void theModelsOfAllWorkersAreListedOnce() throws Exception {
    admin.healthyWorker("http://a:1", "llama", "mistral");
    admin.healthyWorker("http://b:1", "llama", "qwen");
    JsonNode body = json(admin.get("/v1/models"));
    assertThat(body.path("object").asText()).isEqualTo("list");
    assertThat(body.path("data").findValuesAsText("id"))
        .containsExactly("llama", "mistral", "qwen");
  }

  @Test
  void theFirstWorkersCardIsKeptWhole() throws Exception {
    Worker first = admin.healthyWorker("http://a:1", "llama");
    Worker second = admin.healthyWorker("http://b:1", "llama");
    says(second, "{\"data\":[{\"id\":\"llama\",\"max_model_len\":1}]}");
    says(
        first,
        "{\"data\":[{\"id\":\"llama\",\"object\":\"model\",\"max_model_len\":8192,"
            + "\"parent\":null,\"permission\":[{\"allow_logprobs\":true}]}]}");
    JsonNode card = json(admin.get("/v1/models")).path("data").get(0);
    assertThat(card.path("max_model_len").asInt()).isEqualTo(8192);
    assertThat(card.path("permission").get(0).path("allow_logprobs").asBoolean()).isTrue();
    assertThat(card.has("parent")).isTrue();
  }

  @Test
  void aModelThatIsOnlyConfiguredHasAPlainCard() throws Exception {
    admin.healthyWorker("http://a:1", "llama");
    JsonNode card = json(admin.get("/v1/models")).path("data").get(0);
    assertThat(card.path("object").asText()).isEqualTo("model");
    assertThat(card.path("owned_by").asText()).isEqualTo("pointsman");
    assertThat(card.path("created").isInt()).isTrue();
  }

  @Test
  void oneModelIsFoundBySlashesInItsName() throws Exception {
    admin.healthyWorker("http://a:1", "meta/llama-3");
    assertThat(json(admin.get("/v1/models/meta/llama-3")).path("id").asText())
        .isEqualTo("meta/llama-3");
    assertThat(admin.get("/v1/models/meta%2Fllama-3").status()).isEqualTo(200);
  }

  @Test
  void twoHyphensMeanASlashIfNoModelHasThatName() throws Exception {
    admin.healthyWorker("http://a:1", "meta/llama-3", "a--b", "a/b");
    assertThat(json(admin.get("/v1/models/meta--llama-3")).path("id").asText())
        .isEqualTo("meta/llama-3");
    assertThat(json(admin.get("/v1/models/a--b")).path("id").asText()).isEqualTo("a--b");
  }

  @Test
  void aSlashAtTheEndIsIgnoredIfNoModelHasThatName() throws Exception {
    admin.healthyWorker("http://a:1", "llama", "meta/llama-3", "b/", "b");
    assertThat(json(admin.get("/v1/models/llama/")).path("id").asText()).isEqualTo("llama");
    assertThat(json(admin.get("/v1/models/meta--llama-3/")).path("id").asText())
        .isEqualTo("meta/llama-3");
    assertThat(json(admin.get("/v1/models/b/")).path("id").asText()).isEqualTo("b/");
    assertThat(admin.get("/v1/models/llama//").status()).isEqualTo(404);
  }

  @Test
  void anUnknownModelIsNotFound() throws Exception {
    LocalResponse response = admin.get("/v1/models/none");
    assertThat(response.status()).isEqualTo(404);
    assertThat(json(response).path("error").path("code").asText()).isEqualTo("model_not_found");
    assertThat(json(response).path("error").path("type").asText())
        .isEqualTo("invalid_request_error");
  }

  @Test
  void modelsOfALeavingWorkerDisappear() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1", "llama");
    says(worker, "{\"data\":[{\"id\":\"llama\",\"max_model_len\":1}]}");
    admin.fleet.remove("a:1");
    assertThat(json(admin.get("/v1/models")).path("data")).isEmpty();
  }

  @Test
  void invalidResponsesChangeNothing() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1", "llama");
    says(worker, "{\"data\":[{\"id\":\"llama\",\"max_model_len\":5}]}");
    says(worker, "<html>");
    says(worker, "{\"data\":\"" + "x".repeat(ModelCards.MOST_BYTES) + "\"}");
    assertThat(json(admin.get("/v1/models")).path("data").get(0).path("max_model_len").asInt())
        .isEqualTo(5);
  }

  @Test
  void noNetworkIsNeededToAnswer() throws Exception {
    admin.fleet.learnModels(admin.healthyWorker("http://unreachable.invalid:1"), Set.of("m"));
    assertThat(json(admin.get("/v1/models")).path("data").findValuesAsText("id"))
        .containsExactly("m");
    assertThat(admin.asked).isEmpty();
  }

  @Test
  void anAliasIsListedBesideItsModel() throws Exception {
    says(admin.healthyWorker("http://a:1", "llama"), "{\"data\":[{\"id\":\"llama\",\"x\":1}]}");
    admin.aliases = Map.of("gpt-4", "llama", "lost", "absent");
    assertThat(json(admin.get("/v1/models")).path("data").findValuesAsText("id"))
        .containsExactly("llama", "gpt-4");
    JsonNode card = json(admin.get("/v1/models/gpt-4"));
    assertThat(card.path("id").asText()).isEqualTo("gpt-4");
    assertThat(card.path("x").asInt()).isEqualTo(1);
    assertThat(admin.get("/v1/models/lost").status()).isEqualTo(404);
  }

  @Test
  void aClientWithModelsSeesNoOther() throws Exception {
    admin.healthyWorker("http://a:1", "llama", "mistral");
    ClientIdentity client =
        new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of("mistral", "unknown"));
    assertThat(json(admin.get("/v1/models", client)).path("data").findValuesAsText("id"))
        .containsExactly("mistral");
    assertThat(admin.get("/v1/models/mistral", client).status()).isEqualTo(200);
    assertThat(admin.get("/v1/models/llama", client).status()).isEqualTo(404);
  }
}
