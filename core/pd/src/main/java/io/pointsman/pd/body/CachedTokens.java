package io.pointsman.pd.body;

import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.Arithmetic;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.BodyEditor;
import io.pointsman.request.splice.JsonMembers;
import io.pointsman.request.splice.RawJson;
import io.pointsman.request.splice.Splice;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The count of cached prompt tokens in an answer's {@code usage}. With prefill and decode on two
 * workers, the decode worker did not compute the prompt. The count of the prefill worker replaces
 * its count. Keeps scratch memory; one per thread.
 */
public final class CachedTokens {
  private static final String USAGE = "usage";

  /** Member of {@code /generate} in place of the usage. */
  private static final String META = "meta_info";

  /** Details of the usage in chat and text completions, and in responses. */
  private static final List<String> DETAILS =
      List.of("prompt_tokens_details", "input_tokens_details");

  private static final String CACHED = "cached_tokens";

  private static final String INPUT = "input_tokens";

  /** The count in messages, a direct member of the usage. */
  private static final String READ = "cache_read_input_tokens";

  /** Members of events that contain the answer, of a response and of a message. */
  private static final List<String> WHOLE = List.of("response", "message");

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final BodyEditor editor = new BodyEditor();

  /** The count in an answer, or in the JSON of an event; -1 if there is none. */
  static long read(JsonCursor json, byte[] bytes, JsonMembers answer) {
    JsonMembers usage = object(json, bytes, answer, USAGE);
    for (int i = 0; usage == null && i < WHOLE.size(); i++) {
      JsonMembers whole = object(json, bytes, answer, WHOLE.get(i));
      usage = whole == null ? null : object(json, bytes, whole, USAGE);
    }
    if (usage == null) {
      JsonMembers meta = object(json, bytes, answer, META);
      return meta == null ? -1 : number(meta, CACHED);
    }
    long direct = number(usage, READ);
    for (String name : DETAILS) {
      JsonMembers details = object(json, bytes, usage, name);
      direct = details == null ? direct : Math.max(direct, number(details, CACHED));
    }
    return direct;
  }

  /**
   * Writes the count into an answer in one piece, or into the JSON of one event of a stream.
   *
   * @param endpoint endpoint of the request
   * @param bytes array that contains one JSON object; neither changed nor kept
   * @param cached prompt tokens that the prefill worker found in its cache
   * @return null if the object has no usage; it remains unchanged
   */
  public @Nullable Splice put(
      PdEndpoint endpoint, byte[] bytes, int offset, int length, long cached) {
    JsonMembers answer = JsonMembers.read(json, bytes, offset, offset + length);
    if (answer == null) {
      return null;
    }
    List<BodyEdit> edits =
        endpoint == PdEndpoint.MESSAGES
            ? ofMessage(bytes, answer, cached)
            : ofOthers(bytes, answer, cached);
    return edits.isEmpty() ? null : editor.edit(bytes, offset, length, edits);
  }

  /** Edits of a message, of the event that starts it, and of the event that ends it. */
  private List<BodyEdit> ofMessage(byte[] bytes, JsonMembers answer, long cached) {
    JsonMembers usage = object(json, bytes, answer, USAGE);
    if (usage != null) {
      return ofMessage(usage, cached, USAGE);
    }
    JsonMembers message = object(json, bytes, answer, "message");
    usage = message == null ? null : object(json, bytes, message, USAGE);
    return usage == null ? List.of() : ofMessage(usage, cached, "message", USAGE);
  }

  /**
   * Edits of a message's usage. {@code input_tokens} excludes tokens read from a cache, so it
   * changes by the difference. An engine that does not report cached tokens has counted all tokens
   * as computed.
   */
  private static List<BodyEdit> ofMessage(JsonMembers usage, long cached, String... path) {
    boolean inputs = usage.last(INPUT) >= 0;
    if (!inputs && usage.last(READ) < 0) {
      return List.of();
    }
    long before = Math.max(0, number(usage, READ));
    BodyEdit read = new BodyEdit.Put(path(path, READ), RawJson.of(cached), List.of());
    return inputs
        ? List.of(new BodyEdit.Add(path(path, INPUT), before - cached, 0), read)
        : List.of(read);
  }

  private List<BodyEdit> ofOthers(byte[] bytes, JsonMembers answer, long cached) {
    JsonMembers usage = object(json, bytes, answer, USAGE);
    if (usage != null) {
      return ofOthers(usage, cached, USAGE);
    }
    JsonMembers response = object(json, bytes, answer, "response");
    usage = response == null ? null : object(json, bytes, response, USAGE);
    if (usage != null) {
      return ofOthers(usage, cached, "response", USAGE);
    }
    return object(json, bytes, answer, META) == null
        ? List.of()
        : List.of(new BodyEdit.Put(List.of(META, CACHED), RawJson.of(cached), List.of()));
  }

  private static List<BodyEdit> ofOthers(JsonMembers usage, long cached, String... path) {
    String details = DETAILS.get(usage.last(INPUT) >= 0 ? 1 : 0);
    return List.of(new BodyEdit.Put(path(path, details, CACHED), RawJson.of(cached), List.of()));
  }

  private static List<String> path(String[] to, String... tail) {
    return Stream.of(to, tail).flatMap(Stream::of).toList();
  }

  private static @Nullable JsonMembers object(
      JsonCursor json, byte[] bytes, JsonMembers of, String name) {
    int i = of.last(name);
    return i < 0 ? null : JsonMembers.read(json, bytes, of.valueFrom(i), of.valueTo(i));
  }

  private static long number(JsonMembers of, String name) {
    int i = of.last(name);
    return i < 0 ? -1 : Arithmetic.parse(of.text(i));
  }
}
