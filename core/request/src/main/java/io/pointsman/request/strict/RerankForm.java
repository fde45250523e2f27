package io.pointsman.request.strict;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The form of vllm-router's rerank answers, with the wishes of one request. Engines answer with a
 * list of results, or with an object that has it as {@code results}, as vLLM does.
 *
 * @param model value of {@code model} in the request, as JSON; null if there is none
 * @param rid value of {@code rid}, as JSON; null if there is none
 * @param best maximum number of results
 * @param documents true if the answer contains the documents
 */
public record RerankForm(
    @Nullable String model, @Nullable String rid, long best, boolean documents) {
  private static final String UNNAMED = "\"default\"";

  private record Result(double score, String rawScore, String index, @Nullable String document) {}

  /** The wishes in a complete, checked body. */
  public static RerankForm of(byte[] body, int from, int to) {
    JsonMembers members = read(body, from, to);
    if (members == null) {
      return new RerankForm(null, null, Long.MAX_VALUE, true);
    }
    String best = text(members, "top_k");
    String documents = text(members, "return_documents");
    return new RerankForm(
        text(members, "model"),
        text(members, "rid"),
        best == null ? Long.MAX_VALUE : Long.parseLong(best),
        !"false".equals(documents));
  }

  private static @Nullable JsonMembers read(byte[] bytes, int from, int to) {
    return JsonMembers.read(new JsonCursor(StringScanner.best()), bytes, from, to);
  }

  /** The value of a member, as JSON; null if it is absent or null. */
  private static @Nullable String text(JsonMembers members, String name) {
    int i = members.last(name);
    String text = i < 0 ? null : members.text(i);
    return "null".equals(text) ? null : text;
  }

  /**
   * An engine's answer in this form: results by falling score, at most as many as wanted.
   *
   * @param epochSeconds value of {@code created}
   * @return null if the answer has no list of results
   */
  public byte @Nullable [] answer(byte[] reply, long epochSeconds) {
    JsonMembers members = read(reply, 0, reply.length);
    int results = members == null ? -1 : members.last("results");
    if (members != null && results < 0) {
      return null;
    }
    int from = members == null ? 0 : members.valueFrom(results);
    int to = members == null ? reply.length : members.valueTo(results);
    List<Result> sorted = results(reply, from, to);
    if (sorted == null) {
      return null;
    }
    sorted.sort(Comparator.comparingDouble(Result::score).reversed());
    StringBuilder out = new StringBuilder("{\"results\":[");
    for (int i = 0; i < Math.min(best, sorted.size()); i++) {
      Result result = sorted.get(i);
      out.append(i == 0 ? "" : ",").append("{\"score\":").append(result.rawScore);
      if (documents && result.document != null) {
        out.append(",\"document\":").append(result.document);
      }
      out.append(",\"index\":").append(result.index).append('}');
    }
    out.append("],\"model\":").append(model == null ? UNNAMED : model);
    out.append(",\"usage\":null,\"object\":\"rerank\",\"id\":").append(rid);
    return out.append(",\"created\":").append(epochSeconds).append('}').toString().getBytes(UTF_8);
  }

  private static @Nullable List<Result> results(byte[] reply, int from, int to) {
    int start = from;
    while (start < to && reply[start] <= ' ') {
      start++;
    }
    if (start == to || reply[start] != '[') {
      return null;
    }
    List<Result> all = new ArrayList<>();
    for (JsonItems item : JsonItems.of(reply, start, to)) {
      Result result = result(reply, item);
      if (result == null) {
        return null;
      }
      all.add(result);
    }
    return all;
  }

  private static @Nullable Result result(byte[] reply, JsonItems item) {
    JsonMembers members = read(reply, item.from(), item.to());
    if (members == null) {
      return null;
    }
    String theirs = text(members, "score");
    String score = theirs == null ? text(members, "relevance_score") : theirs;
    String index = text(members, "index");
    if (score == null || index == null) {
      return null;
    }
    try {
      return new Result(Double.parseDouble(score), score, index, document(reply, members));
    } catch (NumberFormatException _) {
      return null;
    }
  }

  /** The text of a document. vLLM has it in an object. */
  private static @Nullable String document(byte[] reply, JsonMembers result) {
    int i = result.last("document");
    if (i < 0) {
      return null;
    }
    JsonMembers inner = read(reply, result.valueFrom(i), result.valueTo(i));
    return inner == null ? text(result, "document") : text(inner, "text");
  }
}
