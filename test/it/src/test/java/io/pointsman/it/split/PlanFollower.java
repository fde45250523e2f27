package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * An external proxy without knowledge of protocols: it queries {@code /v1/decide} and follows the
 * plan as in docs/decide.md.
 */
final class PlanFollower {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long LIMIT_SECONDS = 60;

  /** Prefill's response before it has arrived. */
  private static final JsonNode UNKNOWN = MissingNode.getInstance();

  private final int router;

  PlanFollower(int router) {
    this.router = router;
  }

  /** The decision and the client's response. */
  record Served(JsonNode decision, HttpAnswer answer) {}

  JsonNode decide(String path, String body, String more) throws IOException {
    HttpAnswer answer =
        RawClient.call(
            router,
            "POST",
            "/v1/decide",
            "{\"path\":\"" + path + "\",\"body\":" + body + more + "}");
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    return JSON.readTree(answer.text());
  }

  HttpAnswer say(JsonNode decision, String what, String body) throws IOException {
    String lease = decision.path("lease").asText();
    return RawClient.call(router, "POST", "/v1/leases/" + lease + "/" + what, body);
  }

  /** Executes one request. */
  Served serve(String path, String body) throws IOException {
    JsonNode decision = decide(path, body, "");
    HttpAnswer answer = carry(decision, (ObjectNode) JSON.readTree(body));
    HttpAnswer settled = say(decision, "settle", "{\"outcome\":\"succeeded\"}");
    assertThat(settled.status()).as(settled.text()).isEqualTo(200);
    return new Served(decision, answer);
  }

  private HttpAnswer carry(JsonNode decision, ObjectNode body) throws IOException {
    JsonNode plan = decision.path("plan");
    JsonNode first = plan.path("prefill");
    ObjectNode toPrefill = edited(body, first.path("edits"), UNKNOWN);
    return switch (plan.path("order").asText()) {
      case "sequential" -> {
        HttpAnswer prefilled = send(decision.path("prefill"), first, toPrefill);
        assertThat(prefilled.status()).as(prefilled.text()).isEqualTo(200);
        assertThat(say(decision, "prefilled", "{\"outcome\":\"succeeded\"}").status())
            .isEqualTo(200);
        JsonNode reply = JSON.readTree(prefilled.text());
        ObjectNode toDecode = edited(body, decodeEdits(plan.path("decode"), reply), reply);
        yield send(decision.path("decode"), plan.path("decode"), toDecode);
      }
      case "concurrent" -> both(decision, toPrefill, body);
      default -> throw new AssertionError(plan);
    };
  }

  private static JsonNode decodeEdits(JsonNode step, JsonNode reply) {
    JsonNode params = reply.path("kv_transfer_params");
    if (!params.isObject() && step.has("edits_without_params")) {
      return step.path("edits_without_params");
    }
    boolean own =
        params.path("remote_host").asText("").matches("localhost|127\\..*|::1|0\\.0\\.0\\.0");
    return own && step.has("edits_if_loopback")
        ? step.path("edits_if_loopback")
        : step.path("edits");
  }

  private HttpAnswer both(JsonNode decision, ObjectNode toPrefill, ObjectNode body)
      throws IOException {
    JsonNode plan = decision.path("plan");
    ObjectNode toDecode = edited(body, plan.path("decode").path("edits"), UNKNOWN);
    ExecutorService thread = Executors.newSingleThreadExecutor();
    try {
      Future<HttpAnswer> prefill =
          thread.submit(() -> send(decision.path("prefill"), plan.path("prefill"), toPrefill));
      HttpAnswer answer = send(decision.path("decode"), plan.path("decode"), toDecode);
      HttpAnswer prefilled = prefill.get(LIMIT_SECONDS, TimeUnit.SECONDS);
      assertThat(prefilled.status()).as(prefilled.text()).isEqualTo(200);
      return answer;
    } catch (InterruptedException | ExecutionException | java.util.concurrent.TimeoutException e) {
      throw new AssertionError(e);
    } finally {
      thread.shutdownNow();
    }
  }

  private static HttpAnswer send(JsonNode worker, JsonNode step, ObjectNode body)
      throws IOException {
    List<String> headers = new ArrayList<>();
    step.path("headers")
        .properties()
        .forEach(header -> headers.add(header.getKey() + ": " + header.getValue().asText()));
    try (RawClient client = RawClient.connect(URI.create(worker.path("url").asText()).getPort())) {
      byte[] bytes = body.toString().getBytes(StandardCharsets.UTF_8);
      return client.send("POST", step.path("path").asText(), bytes, headers).read();
    }
  }

  /**
   * A changed copy of the body.
   *
   * @param reply prefill's response; missing if it is unknown
   */
  static ObjectNode edited(ObjectNode body, JsonNode edits, JsonNode reply) {
    ObjectNode copy = body.deepCopy();
    edits.forEach(edit -> apply(copy, edit, reply));
    return copy;
  }

  private static void apply(ObjectNode body, JsonNode edit, JsonNode reply) {
    JsonNode path = edit.path("path");
    String last = path.get(path.size() - 1).asText();
    String op = edit.path("op").asText();
    ObjectNode at = body;
    for (int i = 0; i < path.size() - 1; i++) {
      JsonNode next = at.get(path.get(i).asText());
      if (next == null && !op.equals("put")) {
        return;
      }
      at = next == null ? at.putObject(path.get(i).asText()) : (ObjectNode) next;
    }
    switch (op) {
      case "put" -> at.set(last, value(edit, reply));
      case "replace" -> {
        if (at.has(last)) {
          at.set(last, value(edit, reply));
        }
      }
      case "remove" -> at.remove(last);
      case "add" -> {
        if (at.path(last).isIntegralNumber()) {
          long least = edit.path("least").asLong();
          at.put(last, Math.max(least, at.get(last).asLong() + edit.path("amount").asLong()));
        }
      }
      case "extend" -> ((ArrayNode) at.get(last)).add(value(edit, reply));
      default -> throw new AssertionError(edit);
    }
  }

  private static JsonNode value(JsonNode edit, JsonNode reply) {
    if (!edit.has("from")) {
      return edit.get("value");
    }
    JsonNode found = reply;
    for (JsonNode name : edit.path("from")) {
      found = found.path(name.asText());
    }
    return edit.has("within") ? edited((ObjectNode) found, edit.path("within"), reply) : found;
  }
}
