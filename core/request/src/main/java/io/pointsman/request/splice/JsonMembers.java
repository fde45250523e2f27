package io.pointsman.request.splice;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonText;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Positions of the members of one JSON object, in order of arrival, including duplicates. Positions
 * are indexes into the array that was read. The array is neither copied nor changed.
 */
public final class JsonMembers {
  /** Maximum number of members. A body with more cannot be edited. */
  public static final int MAX_MEMBERS = 4096;

  private static final int FIELDS = 4;

  private final byte[] bytes;
  private int open;
  private int[] places = new int[16 * FIELDS];
  private int count;

  private JsonMembers(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Reads the object in {@code bytes} from {@code from} to before {@code to}.
   *
   * @return null if there is no object, if it is malformed, or if it has too many members
   */
  public static @Nullable JsonMembers read(JsonCursor json, byte[] bytes, int from, int to) {
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

  /** Index of the next quote after white space and a comma. */
  private int nameAfter(int position) {
    int at = position;
    while (bytes[at] != '"') {
      at++;
    }
    return at;
  }

  /** Index of the last quote before a colon and optional white space. */
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

  public int count() {
    return count;
  }

  /** Index of the first byte after the opening brace. */
  public int open() {
    return open;
  }

  /** Index of the opening quote of the i-th name. */
  public int nameFrom(int i) {
    return places[FIELDS * i];
  }

  /** Index of the first byte of the i-th value. */
  public int valueFrom(int i) {
    return places[FIELDS * i + 2];
  }

  /** Index after the last byte of the i-th value. */
  public int valueTo(int i) {
    return places[FIELDS * i + 3];
  }

  /** True if the i-th name, with its escapes resolved, equals the ASCII name. */
  public boolean is(int i, String name) {
    int from = nameFrom(i) + 1;
    int to = places[FIELDS * i + 1];
    if (to - from == name.length()) {
      return equal(from, name);
    }
    // An escape uses at most six bytes for one character.
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

  /** The i-th name, with its escapes resolved. */
  public String name(int i) {
    return JsonText.decode(bytes, nameFrom(i) + 1, places[FIELDS * i + 1]);
  }

  /**
   * Index of the last member with this name, the one that most readers use; -1 if there is none.
   */
  public int last(String name) {
    for (int i = count - 1; i >= 0; i--) {
      if (is(i, name)) {
        return i;
      }
    }
    return -1;
  }

  /** The bytes of the i-th value as text. */
  public String text(int i) {
    return new String(bytes, valueFrom(i), valueTo(i) - valueFrom(i), UTF_8);
  }
}
