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
import io.pointsman.tool.sim.text.ChatTemplate;
import java.util.List;

/** {@code POST /v1/chat/completions}. */
final class ChatApi {
  private final SimRequests requests;
  private final Generator generator;

  ChatApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
  }

  void handle(SimExchange exchange) {
    JsonNode body = exchange.json();
    Generation request = read(body);
    if (SimRequests.streams(body)) {
      boolean usage = SimRequests.wantsUsage(body);
      boolean ids = SimRequests.wantsIds(body);
      generator.answerStream(exchange, request, run -> new Chunks(run, usage, ids));
    } else {
      boolean ids = SimRequests.wantsIds(body);
      generator.answerWhole(exchange, request, run -> document(run, ids));
    }
  }

  Generation read(JsonNode body) {
    requests.model(body);
    List<int[]> prompts = List.of(prompt(body));
    SimRequests.Length length =
        requests.length(body, prompts, 0, "max_completion_tokens", "max_tokens");
    return requests.generation(body, body, prompts, length);
  }

  static int[] prompt(JsonNode body) {
    JsonNode messages = body.path("messages");
    if (!messages.isArray() || messages.isEmpty()) {
      throw RequestError.badRequest("messages: missing (expected: a list of messages)", "messages");
    }
    return ChatTemplate.render(
        body.path("tools"), SimJson.object().path("none"), messages, new int[0]);
  }

  private static JsonNode document(GenerationRun run, boolean ids) {
    ObjectNode root = head(run, "chat.completion");
    ArrayNode choices = root.putArray("choices");
    for (int i = 0; i < run.size(); i++) {
      ObjectNode choice = choices.addObject().put("index", i);
      choice
          .putObject("message")
          .put("role", "assistant")
          .put("content", run.answer(i).firstWords(run.length(i)));
      choice.putNull("logprobs").put("finish_reason", run.finishReason());
      choice.putNull("stop_reason");
      if (ids) {
        choice.set("token_ids", SimJson.array(run.answer(i).ids(run.length(i))));
      }
    }
    root.set("usage", SimUsage.of(run));
    if (ids) {
      // behind the counts, as in vLLM
      root.set("prompt_token_ids", SimJson.array(run.request().prompts().getFirst()));
    }
    return root;
  }

  private static ObjectNode head(GenerationRun run, String object) {
    return SimJson.object()
        .put("id", run.id("chatcmpl-"))
        .put("object", object)
        .put("created", run.created())
        .put("model", run.request().model());
  }

  /** The events of a streamed chat. */
  private static final class Chunks implements StreamReply {
    private final GenerationRun run;
    private final boolean usage;
    private final boolean ids;
    private final String head;

    Chunks(GenerationRun run, boolean usage, boolean ids) {
      this.run = run;
      this.usage = usage;
      this.ids = ids;
      String object = head(run, "chat.completion.chunk").toString();
      this.head = object.substring(0, object.length() - 1) + ",\"choices\":[";
    }

    @Override
    public void opened(SimEventStream out) {
      for (int i = 0; i < run.size(); i++) {
        String first = choice(i, "{\"role\":\"assistant\",\"content\":\"\"}", "null", "");
        String prompt =
            ids
                ? ",\"prompt_token_ids\":" + SimRequests.ids(run.request().prompts().getFirst())
                : "";
        out.data(first.substring(0, first.length() - 1) + prompt + "}");
      }
    }

    @Override
    public void token(SimEventStream out, int choice, int index) {
      String delta = "{\"content\":\"" + run.answer(choice).text(index) + "\"}";
      out.data(choice(choice, delta, "null", ids ? "" + run.answer(choice).id(index) : ""));
    }

    @Override
    public void ended(SimEventStream out, int choice) {
      String last = choice(choice, "{}", "\"" + run.finishReason() + "\"", "");
      out.data(SimRequests.handedOver(run, last));
    }

    @Override
    public void closed(SimEventStream out) {
      if (usage) {
        out.data(head + "],\"usage\":" + SimUsage.of(run) + "}");
      }
      out.data("[DONE]");
    }

    private String choice(int index, String delta, String finish, String id) {
      return head
          + "{\"index\":"
          + index
          + ",\"delta\":"
          + delta
          + ",\"logprobs\":null,\"finish_reason\":"
          + finish
          + (id.isEmpty() ? "" : ",\"token_ids\":[" + id + "]")
          + "}]}";
    }
  }
}
