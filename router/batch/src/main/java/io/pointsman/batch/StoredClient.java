package io.pointsman.batch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.Priority;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The client of a batch in the batch's document. It has no key, and the API does not show it. */
final class StoredClient {
  private static final String MEMBER = "client";

  private StoredClient() {}

  /** Writes the client. One that may use only some models creates no batch. */
  static void write(ClientIdentity client, ObjectNode batch) {
    ObjectNode json = batch.putObject(MEMBER);
    json.put("kind", client.kind().name());
    json.put("name", client.name());
    Priority priority = client.priority();
    json.put("priority", priority == null ? null : priority.text());
    write(client.quotas().ofEach(), json.putArray("limits"));
    ObjectNode byModel = json.putObject("model_limits");
    client.quotas().byModel().forEach((model, quota) -> write(quota, byModel.putArray(model)));
  }

  private static void write(ClientQuota quota, ArrayNode json) {
    List.of(
            quota.concurrency(),
            quota.requestsPerMinute(),
            quota.promptTokensPerMinute(),
            quota.outputTokensPerMinute(),
            quota.requestsPerDay(),
            quota.tokensPerDay())
        .forEach(json::add);
  }

  /** The client of a batch; null if the batch was created by an earlier version. */
  static @Nullable ClientIdentity read(ObjectNode batch) {
    JsonNode json = batch.path(MEMBER);
    if (!json.isObject()) {
      return null;
    }
    Map<String, ClientQuota> byModel = new HashMap<>();
    json.path("model_limits")
        .properties()
        .forEach(each -> byModel.put(each.getKey(), quota(each.getValue())));
    return new ClientIdentity(
        ClientIdentity.Kind.valueOf(json.path("kind").asText()),
        json.path("name").asText(),
        Set.of(),
        new ClientQuotas(quota(json.path("limits")), byModel),
        Priority.find(json.path("priority").asText()));
  }

  private static ClientQuota quota(JsonNode json) {
    return new ClientQuota(
        json.path(0).asInt(ClientQuota.UNSET),
        json.path(1).asInt(ClientQuota.UNSET),
        json.path(2).asInt(ClientQuota.UNSET),
        json.path(3).asInt(ClientQuota.UNSET),
        json.path(4).asInt(ClientQuota.UNSET),
        json.path(5).asInt(ClientQuota.UNSET));
  }

  /** Removes the client from a document for the API. */
  static void hide(ObjectNode shown) {
    shown.remove(MEMBER);
  }
}
