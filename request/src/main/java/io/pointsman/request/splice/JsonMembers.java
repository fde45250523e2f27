package io.pointsman.request.splice;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Where the members of one JSON object lie, in the order in which they came; duplicates stand side
 * by side. Positions are indexes into the array that was read, which is neither copied nor changed.
 */
final class JsonMembers {
  /** More members than any request has; a body with more cannot be edited. */
  static final int MAX_MEMBERS = 4096;

  private static final int FIELDS = 4;

  private final byte[] bytes;
  private int open;
  private int[] places = new int[16 * FIELDS];
  private int count;

  private JsonMembers(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Reads the object that fills {@code bytes} from {@code from} to before {@code to}.
   *
   * @return null if there is no object, if it is malformed or has too many members
   */
  static @Nullable JsonMembers read(JsonCursor json, byte[] bytes, int from, int to) {
    json.reset(bytes, from, to);
    JsonMembers members = new JsonMembers(bytes);
    boolean whole = json.peek() == '{' && members.readAll(json, from);
    json.finish();
    whole &= json.problem() == null;
    json.release();
    return whole ? members : null;
  }

  private boolean readAll(JsonCursor json, int from) {
    open = from + json.position() + 1;
    int behind = open;
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      if (count == MAX_MEMBERS) {
        return false;
      }
      int name = nameAfter(behind);
      int nameEnd = quoteBefore(from + json.position());
      json.peek();
      int value = from + json.position();
      json.value();
      behind = from + json.position();
      add(name, nameEnd, value, behind);
    }
    return true;
  }

  /** The next quote behind white space and a comma. */
  private int nameAfter(int position) {
    int at = position;
    while (bytes[at] != '"') {
      at++;
    }
    return at;
  }

  /** The last quote before a colon and the white space that may stand there. */
  private int quoteBefore(int position) {
    int at = position - 1;
    while (bytes[at] != '"') {
      at--;
    }
    return at;
  }

  private void add(int name, int nameEnd, int value, int valueEnd) {
    int at = FIELDS * count++;
    if (at == places.length) {
      places = Arrays.copyOf(places, 2 * at);
    }
    places[at] = name;
    places[at + 1] = nameEnd;
    places[at + 2] = value;
    places[at + 3] = valueEnd;
  }

  int count() {
    return count;
  }

  /** Index of the first byte behind the opening brace. */
  int open() {
    return open;
  }

  /** Index of the quote with which the i-th name begins. */
  int nameFrom(int i) {
    return places[FIELDS * i];
  }

  /** Index of the first byte of the i-th value. */
  int valueFrom(int i) {
    return places[FIELDS * i + 2];
  }

  /** Index behind the last byte of the i-th value. */
  int valueTo(int i) {
    return places[FIELDS * i + 3];
  }

  /** Whether the i-th member, escapes resolved, has this ASCII name. */
  boolean is(int i, String name) {
    int from = nameFrom(i) + 1;
    int to = places[FIELDS * i + 1];
    if (to - from == name.length()) {
      return equal(from, name);
    }
    // An escape takes up to six bytes for one character.
    boolean mayBeEscaped = to - from > name.length() && to - from <= 6 * name.length();
    return mayBeEscaped && escaped(from, to) && JsonText.decode(bytes, from, to).equals(name);
  }

  private boolean equal(int from, String name) {
    for (int i = 0; i < name.length(); i++) {
      if (bytes[from + i] != name.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private boolean escaped(int from, int to) {
    for (int i = from; i < to; i++) {
      if (bytes[i] == '\\') {
        return true;
      }
    }
    return false;
  }

  /** The i-th name, escapes resolved. */
  String name(int i) {
    return JsonText.decode(bytes, nameFrom(i) + 1, places[FIELDS * i + 1]);
  }

  /** The last member of this name, the one that counts for most readers; -1 if there is none. */
  int last(String name) {
    for (int i = count - 1; i >= 0; i--) {
      if (is(i, name)) {
        return i;
      }
    }
    return -1;
  }

  /** The i-th value as it came. */
  String text(int i) {
    return new String(bytes, valueFrom(i), valueTo(i) - valueFrom(i), UTF_8);
  }
}
