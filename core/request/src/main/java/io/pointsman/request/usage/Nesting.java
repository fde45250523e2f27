package io.pointsman.request.usage;

/** Open objects and lists within an object that is read byte by byte. */
final class Nesting {
  private int objects;
  private int lists;
  private boolean inString;
  private boolean escaped;

  void begin() {
    objects = 0;
    lists = 0;
    inString = false;
    escaped = false;
  }

  /** Reads the next byte. Returns true if it ends the object. */
  boolean ends(byte b) {
    if (escaped) {
      escaped = false;
    } else if (b == '\\') {
      escaped = inString;
    } else if (b == '"') {
      inString = !inString;
    } else if (!inString) {
      objects += b == '{' ? 1 : b == '}' ? -1 : 0;
      lists += b == '[' ? 1 : b == ']' ? -1 : 0;
    }
    return objects == 0;
  }

  /** True within a list. */
  boolean listed() {
    return lists != 0;
  }
}
