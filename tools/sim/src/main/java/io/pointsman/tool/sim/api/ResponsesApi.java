package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.api.ResponseStore.Stored;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.live.Generator;
import io.pointsman.tool.sim.schedule.Sequence.Phase;
import io.pointsman.tool.sim.text.ChatTemplate;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/** {@code /v1/responses} and the stored responses. */
final class ResponsesApi {
  static final String PATH = "/v1/responses/";

  private static final Set<String> INPUT = Set.of("/input", "/input_items");

  private final SimRequests requests;
  private final Generator generator;
  private final ResponseStore store;

  ResponsesApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
    this.store = new ResponseStore(engine.profile().maxStoredResponses());
  }

  void create(SimExchange exchange) {
    JsonNode body = exchange.json();
    Generation request = read(body);
    boolean keep = body.path("store").asBoolean(true);
    if (SimRequests.streams(body)) {
      generator.answerStream(
          exchange,
          request,
          run -> {
            keep(run, body, keep, false);
            return new ResponseEvents(run, body);
          });
    } else if (body.path("background").asBoolean(false)) {
      GenerationRun run = generator.runUnattended(request);
      keep(run, body, keep, true);
      exchange.respond(200, document(new Stored(run, body, true)));
    } else {
      generator.answerWhole(
          exchange,
          request,
          run -> {
            keep(run, body, keep, false);
            return document(new Stored(run, body, false));
          });
    }
  }

  void retrieve(SimExchange exchange) {
    String rest = exchange.path().substring(PATH.length());
    int slash = rest.indexOf('/');
    if (slash < 0) {
      exchange.respond(200, document(find(rest)));
    } else if (INPUT.contains(rest.substring(slash))) {
      exchange.respond(200, input(find(rest.substring(0, slash))));
    } else {
      throw RequestError.notFound("Not Found: " + exchange.path(), null);
    }
  }

  /** Returns the request's input as a list of items. */
  private static ObjectNode input(Stored stored) {
    JsonNode given = stored.body().path("input");
    ObjectNode root = SimJson.object().put("object", "list");
    if (given.isArray()) {
      root.set("data", given);
    } else {
      ObjectNode item = root.putArray("data").addObject().put("type", "message");
      item.put("role", "user")
          .putArray("content")
          .addObject()
          .put("type", "input_text")
          .set("text", given);
    }
    return root.put("has_more", false);
  }

  void delete(SimExchange exchange) {
    String id = exchange.path().substring(PATH.length());
    find(id).run().drop();
    store.remove(id);
    ObjectNode root = SimJson.object().put("id", id).put("object", "response");
    exchange.respond(200, root.put("deleted", true));
  }

  void cancel(SimExchange exchange) {
    String rest = exchange.path().substring(PATH.length());
    if (!rest.endsWith("/cancel")) {
      throw RequestError.notFound("Not Found: " + exchange.path(), null);
    }
    Stored stored = find(rest.substring(0, rest.length() - "/cancel".length()));
    if (!stored.background()) {
      throw RequestError.badRequest(
          "response: not in the background (expected: one that is)", null);
    }
    if (!stored.run().finished()) {
      stored.run().drop();
    }
    exchange.respond(200, document(stored));
  }

  Generation read(JsonNode body) {
    requests.model(body);
    JsonNode input = body.path("input");
    if (input.isMissingNode() || input.isNull() || (input.isEmpty() && !input.isTextual())) {
      throw RequestError.badRequest(
          "input: missing (expected: a string or a list of items)", "input");
    }
    int[] prompt =
        ChatTemplate.render(body.path("tools"), body.path("instructions"), input, history(body));
    List<int[]> prompts = List.of(prompt);
    SimRequests.Length length = requests.length(body, prompts, 0, "max_output_tokens");
    return requests.generation(body, body, prompts, length);
  }

  private int[] history(JsonNode body) {
    String previous = body.path("previous_response_id").asText("");
    if (previous.isEmpty() || previous.equals("null")) {
      return new int[0];
    }
    GenerationRun run = find(previous).run();
    int[] prompt = run.request().prompts().getFirst();
    int[] answer = run.answer(0).ids(run.sequence(0).produced());
    int[] joined = Arrays.copyOf(prompt, prompt.length + answer.length);
    System.arraycopy(answer, 0, joined, prompt.length, answer.length);
    return joined;
  }

  private Stored find(String id) {
    Stored stored = store.get(id);
    if (stored == null) {
      String text = "Response with id '" + id + "' not found.";
      throw new RequestError(404, "invalid_request_error", text, "response_id");
    }
    return stored;
  }

  private void keep(GenerationRun run, JsonNode body, boolean wanted, boolean background) {
    if (wanted) {
      store.put(id(run, body), new Stored(run, body, background));
    }
  }

  /**
   * The response id, as vLLM assigns it: the body's {@code request_id}, else one of the engine's.
   */
  private static String id(GenerationRun run, JsonNode body) {
    return body.path("request_id").asText(run.id("resp_"));
  }

  static String status(GenerationRun run) {
    if (run.finished()) {
      boolean completed = run.request().stopsByItself() || run.cutOff();
      return completed ? "completed" : "incomplete";
    }
    if (run.aborted()) {
      return "cancelled";
    }
    return run.sequence(0).phase() == Phase.QUEUED ? "queued" : "in_progress";
  }

  static ObjectNode document(Stored stored) {
    GenerationRun run = stored.run();
    String status = status(run);
    ObjectNode root = SimJson.object().put("id", id(run, stored.body())).put("object", "response");
    root.put("created_at", run.created()).put("status", status);
    root.put("background", stored.background()).put("model", run.request().model());
    root.set("previous_response_id", stored.body().get("previous_response_id"));
    root.set("instructions", stored.body().get("instructions"));
    root.putNull("error").putNull("incomplete_details");
    if (status.equals("incomplete")) {
      root.putObject("incomplete_details").put("reason", "max_output_tokens");
    }
    root.putArray("output");
    if (run.finished()) {
      root.withArray("output").add(message(run));
      root.set("usage", usage(run));
    }
    root.put("parallel_tool_calls", true).put("tool_choice", "auto");
    root.putArray("tools");
    return root;
  }

  static ObjectNode message(GenerationRun run) {
    String text = run.answer(0).firstWords(run.length(0));
    ObjectNode message = SimJson.object().put("id", run.id("msg_")).put("type", "message");
    message.put("role", "assistant").put("status", "completed");
    message.putArray("content").add(part(text));
    return message;
  }

  static ObjectNode part(String text) {
    ObjectNode part = SimJson.object().put("type", "output_text").put("text", text);
    part.putArray("annotations");
    return part;
  }

  private static ObjectNode usage(GenerationRun run) {
    int prompt = run.request().promptTokens();
    int completion = run.completionTokens();
    ObjectNode usage = SimJson.object().put("input_tokens", prompt);
    usage.putObject("input_tokens_details").put("cached_tokens", run.cachedTokens());
    usage.put("output_tokens", completion);
    usage.putObject("output_tokens_details").put("reasoning_tokens", 0);
    return usage.put("total_tokens", prompt + completion);
  }
}
