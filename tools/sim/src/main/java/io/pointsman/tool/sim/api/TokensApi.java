package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
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
import java.util.List;

/** {@code POST /inference/v1/generate}: token ids in, token ids out. */
final class TokensApi {
  private static final int DEFAULT_TOKENS = 16;

  private final SimRequests requests;
  private final Generator generator;

  TokensApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
  }

  void handle(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    JsonNode ids = body.path("token_ids");
    if (!ids.isArray()) {
      throw RequestError.badRequest("token_ids: missing (expected: a list of ids)", "token_ids");
    }
    List<int[]> prompts = List.of(SimRequests.ids(ids, "token_ids"));
    JsonNode params = body.path("sampling_params");
    SimRequests.Length length = requests.length(params, prompts, DEFAULT_TOKENS, "max_tokens");
    Generation request = requests.generation(body, params, prompts, length);
    String given = body.path("request_id").asText("");
    if (SimRequests.streams(body)) {
      generator.answerStream(exchange, request, run -> new Chunks(run, id(run, given)));
    } else {
      generator.answerWhole(exchange, request, run -> document(run, id(run, given)));
    }
  }

  private static String id(GenerationRun run, String given) {
    return given.isEmpty() ? run.id("generate-") : given;
  }

  private static JsonNode document(GenerationRun run, String id) {
    ObjectNode root = SimJson.object().put("request_id", id).put("model", run.request().model());
    root.put("created", run.created());
    // vLLM writes the counts before the choices
    root.set("usage", SimUsage.of(run));
    root.putNull("prompt_logprobs").putNull("kv_transfer_params");
    ArrayNode choices = root.putArray("choices");
    for (int i = 0; i < run.size(); i++) {
      ObjectNode choice = choices.addObject().put("index", i).putNull("logprobs");
      choice.put("finish_reason", run.finishReason());
      choice.set("token_ids", SimJson.array(run.answer(i).ids(run.length(i))));
    }
    return root;
  }

  /** The events of a streamed generation. */
  private static final class Chunks implements StreamReply {
    private final GenerationRun run;
    private final String head;

    Chunks(GenerationRun run, String id) {
      this.run = run;
      this.head = "{\"request_id\":" + SimJson.quote(id) + ",\"choices\":[";
    }

    @Override
    public void opened(SimEventStream out) {}

    @Override
    public void token(SimEventStream out, int choice, int index) {
      out.data(choice(choice, Integer.toString(run.answer(choice).id(index)), "null"));
    }

    @Override
    public void ended(SimEventStream out, int choice) {
      out.data(choice(choice, "", "\"" + run.finishReason() + "\""));
    }

    @Override
    public void closed(SimEventStream out) {
      out.data(head + "],\"usage\":" + SimUsage.of(run) + "}");
      out.data("[DONE]");
    }

    private String choice(int index, String id, String finish) {
      return head
          + "{\"index\":"
          + index
          + ",\"token_ids\":["
          + id
          + "],\"logprobs\":null,\"finish_reason\":"
          + finish
          + "}]}";
    }
  }
}
