package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.live.Generator;
import io.pointsman.tool.sim.text.Tokeniser;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Embeddings, rerank and score: prefill only; results depend only on the tokens. */
final class PoolingApi {
  private final SimRequests requests;
  private final Generator generator;
  private final int dimensions;

  PoolingApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
    this.dimensions = engine.profile().embeddingDimensions();
  }

  void embeddings(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    List<int[]> prompts =
        body.has("messages")
            ? List.of(ChatApi.prompt(body))
            : SimRequests.prompts(body.path("input"), "input");
    boolean base64 = body.path("encoding_format").asText("float").equals("base64");
    int length = body.path("dimensions").asInt(dimensions);
    if (length < 1 || length > 65_536) {
      throw RequestError.badRequest("dimensions: " + length + " (expected: 1 to 65536)", null);
    }
    generator.answerWhole(
        exchange,
        requests.prefill(body, prompts),
        run -> {
          ObjectNode root = SimJson.object().put("id", run.id("embd-")).put("object", "list");
          root.put("created", run.created()).put("model", run.request().model());
          ArrayNode data = root.putArray("data");
          for (int i = 0; i < run.size(); i++) {
            Embedding vector = Embedding.of(prompts.get(i), length);
            ObjectNode entry = data.addObject().put("index", i).put("object", "embedding");
            entry.set("embedding", base64 ? vector.base64() : vector.floats());
          }
          return root.set("usage", SimUsage.of(run));
        });
  }

  void rerank(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    List<String> documents = texts(body.path("documents"), "documents");
    List<int[]> prompts = pairs(texts(body.path("query"), "query"), documents);
    int top = body.path("top_n").asInt(body.path("top_k").asInt(0));
    generator.answerWhole(
        exchange,
        requests.prefill(body, prompts),
        run -> {
          ObjectNode root = SimJson.object().put("id", run.id("rerank-"));
          root.put("model", run.request().model()).set("usage", SimUsage.of(run));
          ArrayNode results = root.putArray("results");
          IntStream.range(0, run.size())
              .boxed()
              .sorted(Comparator.comparingDouble(i -> -score(run, i)))
              .limit(top > 0 ? top : run.size())
              .forEach(i -> results.add(result(run, i, documents.get(i))));
          return root;
        });
  }

  void score(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    List<String> left = texts(either(body, "text_1", "queries"), "text_1");
    List<String> right = texts(either(body, "text_2", "documents"), "text_2");
    generator.answerWhole(
        exchange,
        requests.prefill(body, pairs(left, right)),
        run -> {
          ObjectNode root = SimJson.object().put("id", run.id("score-")).put("object", "list");
          root.put("created", run.created()).put("model", run.request().model());
          ArrayNode data = root.putArray("data");
          for (int i = 0; i < run.size(); i++) {
            ObjectNode entry = data.addObject().put("index", i).put("object", "score");
            entry.put("score", score(run, i));
          }
          return root.set("usage", SimUsage.of(run));
        });
  }

  private static ObjectNode result(GenerationRun run, int index, String document) {
    ObjectNode result = SimJson.object().put("index", index);
    result.putObject("document").put("text", document);
    return result.put("relevance_score", score(run, index));
  }

  private static double score(GenerationRun run, int index) {
    return Embedding.of(run.request().prompts().get(index), 1).probability();
  }

  private static JsonNode either(JsonNode body, String first, String second) {
    return body.has(first) ? body.path(first) : body.path(second);
  }

  private static List<int[]> pairs(List<String> left, List<String> right) {
    if (left.size() != 1 && left.size() != right.size()) {
      throw RequestError.badRequest(
          "texts: " + left.size() + " and " + right.size() + " (expected: 1 to n, or n to n)",
          null);
    }
    List<int[]> prompts = new ArrayList<>();
    for (int i = 0; i < right.size(); i++) {
      String first = left.get(left.size() == 1 ? 0 : i);
      prompts.add(Tokeniser.encode(first + "\n" + right.get(i)));
    }
    return prompts;
  }

  private static List<String> texts(JsonNode node, String field) {
    List<String> texts = new ArrayList<>();
    if (node.isArray()) {
      node.forEach(item -> texts.addAll(texts(item, field)));
    } else if (node.isObject()) {
      texts.add(node.path("text").asText(node.toString()));
    } else if (node.isTextual()) {
      texts.add(node.textValue());
    }
    if (texts.isEmpty()) {
      throw RequestError.badRequest(field + ": missing (expected: a string or a list)", field);
    }
    return texts;
  }
}
