package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.live.Generator;
import io.pointsman.tool.sim.live.StreamReply;
import io.pointsman.tool.sim.text.ChatTemplate;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code POST /v1/messages} in Anthropic's form, in which {@code input_tokens} excludes cached
 * tokens.
 */
final class MessagesApi {
  private final SimRequests requests;
  private final Generator generator;

  MessagesApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
  }

  void create(SimExchange exchange) {
    JsonNode body = exchange.json();
    Generation request = read(body);
    if (SimRequests.streams(body)) {
      generator.answerStream(exchange, request, Events::new);
    } else {
      generator.answerWhole(exchange, request, MessagesApi::document);
    }
  }

  void countTokens(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    exchange.respond(200, SimJson.object().put("input_tokens", prompt(body).length));
  }

  Generation read(JsonNode body) {
    requests.model(body);
    List<int[]> prompts = List.of(prompt(body));
    SimRequests.Length length = requests.length(body, prompts, 0, "max_tokens");
    return requests.generation(body, SimJson.object(), prompts, length);
  }

  private static int[] prompt(JsonNode body) {
    JsonNode messages = body.path("messages");
    if (!messages.isArray() || messages.isEmpty()) {
      throw RequestError.malformed("messages: missing (expected: a list of messages)", "messages");
    }
    return ChatTemplate.render(body.path("tools"), body.path("system"), messages, new int[0]);
  }

  private static JsonNode document(GenerationRun run) {
    ObjectNode root = head(run);
    String text = run.answer(0).firstWords(run.length(0));
    root.putArray("content").addObject().put("type", "text").put("text", text);
    // vLLM leaves out members without a value
    if (!run.cutOff()) {
      root.put("stop_reason", stopReason(run));
    }
    return root.set("usage", usage(run, run.completionTokens()));
  }

  private static ObjectNode head(GenerationRun run) {
    ObjectNode root = SimJson.object().put("id", run.id("msg_")).put("type", "message");
    return root.put("role", "assistant").put("model", run.request().model());
  }

  private static @Nullable String stopReason(GenerationRun run) {
    if (run.cutOff()) {
      return null;
    }
    return run.request().stopsByItself() ? "end_turn" : "max_tokens";
  }

  private static ObjectNode usage(GenerationRun run, int output) {
    ObjectNode usage = SimJson.object();
    usage.put("input_tokens", run.request().promptTokens() - run.cachedTokens());
    usage.put("cache_creation_input_tokens", 0);
    usage.put("cache_read_input_tokens", run.cachedTokens());
    return usage.put("output_tokens", output);
  }

  /** The events of a streamed message. */
  private record Events(GenerationRun run) implements StreamReply {
    @Override
    public void opened(SimEventStream out) {
      ObjectNode message = head(run);
      message.putArray("content");
      message.putNull("stop_reason").putNull("stop_sequence");
      // vLLM knows the cached tokens only at the end
      int prompt = run.request().promptTokens();
      message.putObject("usage").put("input_tokens", prompt).put("output_tokens", 0);
      send(out, event("message_start").set("message", message));
      ObjectNode start = event("content_block_start").put("index", 0);
      start.putObject("content_block").put("type", "text").put("text", "");
      send(out, start);
    }

    @Override
    public void token(SimEventStream out, int choice, int index) {
      out.event(
          "content_block_delta",
          "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\""
              + run.answer(0).text(index)
              + "\"}}");
    }

    @Override
    public void ended(SimEventStream out, int choice) {
      send(out, event("content_block_stop").put("index", 0));
    }

    @Override
    public void closed(SimEventStream out) {
      ObjectNode delta = event("message_delta");
      delta.putObject("delta").put("stop_reason", stopReason(run)).putNull("stop_sequence");
      delta.set("usage", usage(run, run.completionTokens()));
      send(out, delta);
      send(out, event("message_stop"));
    }

    @Override
    public void failed(SimEventStream out) {
      send(out, SimJson.anthropicError("internal_error", Generator.DEAD));
    }

    private static ObjectNode event(String type) {
      return SimJson.object().put("type", type);
    }

    private static void send(SimEventStream out, JsonNode event) {
      out.event(event.path("type").asText(), event.toString());
    }
  }
}
