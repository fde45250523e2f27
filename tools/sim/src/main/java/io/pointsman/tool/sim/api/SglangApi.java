package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.live.Generator;
import io.pointsman.tool.sim.live.StreamReply;
import java.util.List;

/**
 * {@code POST /generate} in SGLang's native form, in which each event contains the whole text so
 * far.
 */
final class SglangApi {
  private static final int DEFAULT_TOKENS = 128;

  private final SimRequests requests;
  private final Generator generator;

  SglangApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
  }

  void handle(SimExchange exchange) {
    JsonNode body = exchange.json();
    Generation request = read(body);
    if (SimRequests.streams(body)) {
      generator.answerStream(exchange, request, Events::new);
    } else {
      generator.answerWhole(exchange, request, SglangApi::document);
    }
  }

  private Generation read(JsonNode body) {
    requests.model(body);
    List<int[]> prompts;
    if (body.has("input_ids")) {
      prompts = SimRequests.prompts(body.path("input_ids"), "input_ids");
    } else {
      prompts =
          SimRequests.prompts(body.has("text") ? body.path("text") : body.path("prompt"), "text");
    }
    JsonNode params = body.path("sampling_params");
    SimRequests.Length length =
        requests.length(params, prompts, DEFAULT_TOKENS, "max_new_tokens", "max_tokens");
    return requests.generation(body, params, prompts, length);
  }

  private static JsonNode document(GenerationRun run) {
    if (run.size() == 1) {
      return one(run, 0, run.request().outputTokens());
    }
    ArrayNode all = SimJson.array();
    for (int i = 0; i < run.size(); i++) {
      all.add(one(run, i, run.request().outputTokens()));
    }
    return all;
  }

  private static ObjectNode one(GenerationRun run, int choice, int tokens) {
    ObjectNode root = SimJson.object().put("text", run.answer(choice).firstWords(tokens));
    root.set("output_ids", SimJson.array(run.answer(choice).ids(tokens)));
    ObjectNode meta = root.putObject("meta_info").put("id", run.id("sgl-") + "-" + choice);
    meta.putNull("finish_reason");
    if (tokens == run.request().outputTokens()) {
      meta.putObject("finish_reason").put("type", "length").put("length", tokens);
    }
    meta.put("prompt_tokens", run.sequence(choice).promptTokens());
    meta.put("completion_tokens", tokens).put("cached_tokens", run.cachedTokens(choice));
    long nanos = run.sequence(choice).finishedAt() - run.sequence(choice).arrivedAt();
    meta.put("e2e_latency", Math.max(0, nanos) / 1e9);
    return root;
  }

  /** The events of a streamed generation. */
  private record Events(GenerationRun run) implements StreamReply {
    @Override
    public void opened(SimEventStream out) {}

    @Override
    public void token(SimEventStream out, int choice, int index) {
      ObjectNode event = one(run, choice, index + 1);
      out.data(run.size() > 1 ? event.put("index", choice).toString() : event.toString());
    }

    @Override
    public void ended(SimEventStream out, int choice) {}

    @Override
    public void closed(SimEventStream out) {
      out.data("[DONE]");
    }
  }
}
