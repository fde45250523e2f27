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
import io.pointsman.tool.sim.text.Tokeniser;
import java.util.List;

/** {@code POST /v1/completions}. */
final class CompletionsApi {
  private static final int DEFAULT_TOKENS = 16;

  private final SimRequests requests;
  private final Generator generator;

  CompletionsApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
  }

  void handle(SimExchange exchange) {
    JsonNode body = exchange.json();
    Generation request = read(body);
    boolean echo = body.path("echo").asBoolean(false);
    if (SimRequests.streams(body)) {
      boolean usage = SimRequests.wantsUsage(body);
      boolean ids = SimRequests.wantsIds(body);
      generator.answerStream(exchange, request, run -> new Chunks(run, usage, echo, ids));
    } else {
      boolean ids = SimRequests.wantsIds(body);
      generator.answerWhole(exchange, request, run -> document(run, echo, ids));
    }
  }

  Generation read(JsonNode body) {
    requests.model(body);
    List<int[]> prompts = SimRequests.prompts(body.path("prompt"), "prompt");
    SimRequests.Length length = requests.length(body, prompts, DEFAULT_TOKENS, "max_tokens");
    return requests.generation(body, body, prompts, length);
  }

  private static JsonNode document(GenerationRun run, boolean echo, boolean ids) {
    ObjectNode root = head(run);
    ArrayNode choices = root.putArray("choices");
    for (int i = 0; i < run.size(); i++) {
      String text = run.answer(i).firstWords(run.length(i));
      ObjectNode choice = choices.addObject();
      choice
          .put("index", i)
          .put("text", echo ? promptText(run, i) + text : text)
          .putNull("logprobs")
          .put("finish_reason", run.finishReason())
          .putNull("stop_reason");
      if (ids) {
        choice.set("token_ids", SimJson.array(run.answer(i).ids(run.length(i))));
        choice.set("prompt_token_ids", SimJson.array(prompt(run, i)));
      }
    }
    return root.set("usage", SimUsage.of(run));
  }

  private static String promptText(GenerationRun run, int choice) {
    return Tokeniser.decode(prompt(run, choice));
  }

  private static int[] prompt(GenerationRun run, int choice) {
    return run.request().prompts().get(choice / run.request().choices());
  }

  private static ObjectNode head(GenerationRun run) {
    return SimJson.object()
        .put("id", run.id("cmpl-"))
        .put("object", "text_completion")
        .put("created", run.created())
        .put("model", run.request().model());
  }

  /** The events of a streamed completion. */
  private static final class Chunks implements StreamReply {
    private final GenerationRun run;
    private final boolean usage;
    private final boolean echo;
    private final boolean ids;
    private final String head;

    Chunks(GenerationRun run, boolean usage, boolean echo, boolean ids) {
      this.ids = ids;
      this.run = run;
      this.usage = usage;
      this.echo = echo;
      String object = head(run).toString();
      this.head = object.substring(0, object.length() - 1) + ",\"choices\":[";
    }

    @Override
    public void opened(SimEventStream out) {
      for (int i = 0; echo && i < run.size(); i++) {
        out.data(choice(i, SimJson.quote(promptText(run, i)), "null", ""));
      }
    }

    @Override
    public void token(SimEventStream out, int choice, int index) {
      out.data(
          choice(choice, "\"" + run.answer(choice).text(index) + "\"", "null", ids(choice, index)));
    }

    @Override
    public void ended(SimEventStream out, int choice) {
      String last = choice(choice, "\"\"", "\"" + run.finishReason() + "\"", "");
      out.data(SimRequests.handedOver(run, last));
    }

    @Override
    public void closed(SimEventStream out) {
      if (usage) {
        out.data(head + "],\"usage\":" + SimUsage.of(run) + "}");
      }
      out.data("[DONE]");
    }

    /** The id of a token; with the first one the ids of the prompt. */
    private String ids(int choice, int index) {
      if (!ids) {
        return "";
      }
      String prompt =
          index == 0 ? ",\"prompt_token_ids\":" + SimRequests.ids(prompt(run, choice)) : "";
      return prompt + ",\"token_ids\":[" + run.answer(choice).id(index) + "]";
    }

    private String choice(int index, String text, String finish, String more) {
      return head
          + "{\"index\":"
          + index
          + ",\"text\":"
          + text
          + ",\"logprobs\":null,\"finish_reason\":"
          + finish
          + ",\"stop_reason\":null"
          + more
          + "}]}";
    }
  }
}
