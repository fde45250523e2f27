package io.pointsman.request.splice;

import static java.util.Objects.requireNonNull;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;

/** Reader of the members of complete objects for tests. */
final class MembersReading {
  private MembersReading() {}

  static JsonMembers read(byte[] object) {
    JsonCursor json = new JsonCursor(StringScanner.best());
    return requireNonNull(JsonMembers.read(json, object, 0, object.length), "members");
  }
}
