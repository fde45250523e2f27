package io.pointsman.request.splice;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Editor of the bytes of a JSON object. It applies {@link BodyEdit}s. One scan finds the positions
 * of the members. The result names ranges of the original and the bytes between them. Keeps scratch
 * memory; use one editor per thread.
 */
public final class BodyEditor {
  private final JsonCursor json = new JsonCursor(StringScanner.best());

  /**
   * Applies {@code edits} in order.
   *
   * @param body array that contains the object; neither changed nor kept
   * @param offset index of its first byte
   * @param length number of its bytes
   * @return null if the body is not a JSON object, or if it or an object on the path of an edit is
   *     malformed or has more than 4,096 members
   */
  public @Nullable Splice edit(byte[] body, int offset, int length, List<BodyEdit> edits) {
    if (edits.isEmpty()) {
      return Splice.unchanged(length);
    }
    JsonMembers members = JsonMembers.read(json, body, offset, offset + length);
    if (members == null) {
      return null;
    }
    Pieces out = new Pieces(offset);
    return write(body, offset, offset + length, members, edits, out) ? out.finish() : null;
  }

  /** The edited value; the same value if it is not an object. */
  RawJson edit(RawJson value, List<BodyEdit> edits) {
    byte[] bytes = value.bytes();
    Splice splice = edit(bytes, 0, bytes.length, edits);
    return splice == null ? value : RawJson.wrap(splice.toBytes(bytes, 0));
  }

  /** Returns false if an object on the path of an edit cannot be read. */
  private boolean write(
      byte[] bytes, int from, int to, JsonMembers members, List<BodyEdit> edits, Pieces out) {
    ObjectEdits changes = new ObjectEdits(this, bytes, members);
    edits.forEach(changes::add);
    int done = from;
    int kept = -1;
    for (int i = 0; i < members.count(); i++) {
      if (changes.removed(i)) {
        int end = i + 1;
        while (end < members.count() && changes.removed(end)) {
          end++;
        }
        boolean last = end == members.count();
        int cut = last && kept >= 0 ? members.valueTo(kept) : members.nameFrom(i);
        out.original(done, Math.max(done, cut));
        done = last ? members.valueTo(end - 1) : members.nameFrom(end);
        i = end - 1;
      } else {
        if (!value(bytes, members, i, changes.change(i), done, out)) {
          return false;
        }
        done = members.valueTo(i);
        kept = i;
      }
    }
    int end = members.count() == 0 ? members.open() : done;
    out.original(done, end);
    changes.appended(kept >= 0).forEach(out::insert);
    out.original(end, to);
    return true;
  }

  /**
   * Writes all bytes up to the end of the i-th value, with its change. Returns false if an object
   * on the path of an edit cannot be read.
   */
  private boolean value(
      byte[] bytes,
      JsonMembers members,
      int i,
      @Nullable MemberChange change,
      int done,
      Pieces out) {
    int from = members.valueFrom(i);
    int to = members.valueTo(i);
    switch (change) {
      case null -> {
        out.original(done, to);
      }
      case MemberChange.Removed _ -> throw new AssertionError("removed members have no value");
      case MemberChange.Value(RawJson value) -> {
        out.original(done, from);
        out.insert(value);
      }
      case MemberChange.Inside(List<BodyEdit> edits) -> {
        out.original(done, from);
        JsonMembers inner = JsonMembers.read(json, bytes, from, to);
        // To pass it on would pass on the members that an edit removes.
        if (inner == null || !write(bytes, from, to, inner, edits, out)) {
          return false;
        }
      }
      case MemberChange.Extended(List<RawJson> elements) -> {
        out.original(done, to - 1);
        elements.forEach(out::insert);
        out.original(to - 1, to);
      }
    }
    return true;
  }
}
