package io.pointsman.request.strict;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import java.util.ArrayList;
import java.util.List;

/** Elements of a JSON array, as positions in the array's bytes. */
@SuppressWarnings("ArrayRecordComponent") // a view, never compared
record JsonItems(byte[] bytes, int from, int to) {
  /** The elements of the array from {@code from} to before {@code to}; none if it is no array. */
  static List<JsonItems> of(byte[] bytes, int from, int to) {
    JsonCursor json = new JsonCursor(StringScanner.best());
    json.reset(bytes, from, to);
    List<JsonItems> items = new ArrayList<>();
    if (json.peek() == '[') {
      for (boolean more = json.firstElement(); more; more = json.nextElement()) {
        json.peek();
        int start = from + json.position();
        json.value();
        items.add(new JsonItems(bytes, start, from + json.position()));
      }
    }
    json.release();
    return items;
  }
}
