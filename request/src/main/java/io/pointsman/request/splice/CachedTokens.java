package io.pointsman.request.splice;

import io.pointsman.engine.disagg.plan.BodyEdit;
import io.pointsman.engine.disagg.plan.RawJson;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The count of cached prompt tokens in an answer's {@code usage}. With two workers the one that
 * answers the client did not compute the prompt, so the figure of the other one takes its place.
 * Keeps scratch memory: one per thread.
 */
public final class CachedTokens {
  private static final String USAGE = "usage";

  /** What {@code /generate} has in place of the usage. */
  private static final String META = "meta_info";

  /** In chat and text completions, and in stored responses. */
  private static final List<String> DETAILS =
      List.of("prompt_tokens_details", "input_tokens_details");

  private static final String CACHED = "cached_tokens";

  /** In messages, where it is a member of the usage itself. */
  private static final String READ = "cache_read_input_tokens";

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final BodyEditor editor = new BodyEditor();

  /** The figure in an answer; -1 if there is none. */
  static long read(JsonCursor json, byte[] bytes, JsonMembers answer) {
    JsonMembers usage = object(json, bytes, answer, USAGE);
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
   * Puts the figure into an answer in one piece, or into the JSON of one event of a stream.
   *
   * @param bytes array that holds one JSON object; neither changed nor kept
   * @param cached prompt tokens that the prefill worker found in its cache
   * @return null if the object has no usage, so that nothing is to be changed
   */
  public @Nullable Splice put(byte[] bytes, int offset, int length, long cached) {
    BodyEdit edit = edit(bytes, offset, offset + length, cached);
    return edit == null ? null : editor.edit(bytes, offset, length, List.of(edit));
  }

  /**
   * Puts the figure into one event of a stream, from {@code data:} to the empty line behind it.
   *
   * @return null if nothing is to be changed: the event has no usage, or its data is no JSON object
   *     on one line
   */
  public @Nullable Splice putInEvent(byte[] bytes, int offset, int length, long cached) {
    int end = offset + length;
    int from = dataFrom(bytes, offset, end);
    int to = from;
    while (to < end && bytes[to] != '\n' && bytes[to] != '\r') {
      to++;
    }
    if (from == to) {
      return null;
    }
    Splice data = put(bytes, from, to - from, cached);
    if (data == null) {
      return null;
    }
    Pieces event = new Pieces(offset);
    event.original(offset, from);
    for (Piece piece : data.pieces()) {
      switch (piece) {
        case Piece.Original(int at, int size) -> event.original(from + at, from + at + size);
        case Piece.Inserted(RawJson text) -> event.insert(text);
      }
    }
    event.original(to, end);
    return event.finish();
  }

  /** Where the data of an event begins: behind {@code data:} at the start of a line. */
  private static int dataFrom(byte[] bytes, int from, int to) {
    for (int i = from; i + 5 <= to; i++) {
      boolean lineStart = i == from || bytes[i - 1] == '\n' || bytes[i - 1] == '\r';
      if (lineStart
          && bytes[i] == 'd'
          && bytes[i + 1] == 'a'
          && bytes[i + 2] == 't'
          && bytes[i + 3] == 'a'
          && bytes[i + 4] == ':') {
        return i + 5;
      }
    }
    return to;
  }

  private @Nullable BodyEdit edit(byte[] bytes, int from, int to, long cached) {
    JsonMembers answer = JsonMembers.read(json, bytes, from, to);
    if (answer == null) {
      return null;
    }
    JsonMembers usage = object(json, bytes, answer, USAGE);
    if (usage != null) {
      return edit(usage, cached, USAGE);
    }
    JsonMembers response = object(json, bytes, answer, "response");
    usage = response == null ? null : object(json, bytes, response, USAGE);
    if (usage != null) {
      return edit(usage, cached, "response", USAGE);
    }
    return object(json, bytes, answer, META) == null
        ? null
        : new BodyEdit.Put(List.of(META, CACHED), RawJson.of(cached), List.of());
  }

  private static BodyEdit edit(JsonMembers usage, long cached, String... path) {
    boolean messages = usage.last(READ) >= 0;
    boolean responses = usage.last("input_tokens") >= 0;
    List<String> tail = messages ? List.of(READ) : List.of(DETAILS.get(responses ? 1 : 0), CACHED);
    List<String> whole = new ArrayList<>(List.of(path));
    whole.addAll(tail);
    return new BodyEdit.Put(whole, RawJson.of(cached), List.of());
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
