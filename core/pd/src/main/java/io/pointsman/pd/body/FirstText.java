package io.pointsman.pd.body;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import io.pointsman.request.splice.Pieces;
import io.pointsman.request.splice.RawJson;
import io.pointsman.request.splice.Splice;
import org.jspecify.annotations.Nullable;

/**
 * Insertion of the first token's text before the text of a completion. It edits an answer in one
 * piece or one event of a stream. Keeps scratch memory; one per thread.
 */
public final class FirstText {
  private final JsonCursor json = new JsonCursor(StringScanner.best());

  /**
   * Inserts {@code text} before {@code choices[0].text}.
   *
   * @param bytes array that contains one JSON object; neither changed nor kept
   * @param text a JSON string
   * @return null if the object has no such text; it remains unchanged
   */
  public @Nullable Splice putBefore(byte[] bytes, int offset, int length, RawJson text) {
    int end = offset + length;
    JsonMembers answer = JsonMembers.read(json, bytes, offset, end);
    JsonMembers choice = answer == null ? null : ReplyReader.firstChoice(json, bytes, answer);
    int i = choice == null ? -1 : choice.last("text");
    if (choice == null || i < 0 || bytes[choice.valueFrom(i)] != '"') {
      return null;
    }
    int inside = choice.valueFrom(i) + 1;
    Pieces out = new Pieces(offset);
    out.original(offset, inside);
    out.insert(RawJson.copyOf(text.bytes(), 1, text.length() - 1));
    out.original(inside, end);
    return out.finish();
  }
}
