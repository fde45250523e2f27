package io.pointsman.request.handover;

import io.pointsman.request.json.JsonText;

/**
 * Search for {@link HandoverFields} in a body that the router cannot edit: its rest is streamed, or
 * engines read it as JSON although its headers or its form say otherwise. The body may be split at
 * any byte. JSON in UTF-16 or UTF-32 counts as found, because Python reads it and the router does
 * not. Memory is bounded. One thread.
 */
public final class HandoverScan {
  /** Longest name, if each of its characters is an escape of six. */
  private static final int MOST_NAME = 160;

  private static final int[] UTF8_MARK = {0xEF, 0xBB, 0xBF};

  private enum State {
    /** Before the first character of the JSON text. */
    START,
    /** Behind the first brace. */
    OPENED,
    JSON,
    STRING,
    ESCAPE,
    FOUND,
    /** No JSON object. */
    OTHER
  }

  private State state = State.START;

  /** Number of bytes before the first brace. */
  private int before;

  /** True if a byte of UTF-16 or UTF-32 has preceded the first brace. */
  private boolean wide;

  /** True if the body is JSON in UTF-16 or UTF-32. */
  private boolean wideText;

  private int depth;
  private final byte[] name = new byte[MOST_NAME];

  /** Length of the last string; above {@link #MOST_NAME} if it is no name. */
  private int length;

  /** True if nothing can be found in the rest of the body. */
  public boolean ended() {
    return state == State.OTHER;
  }

  /** True if the body counts as found because it is JSON in UTF-16 or UTF-32. */
  public boolean isWideText() {
    return wideText;
  }

  /** Reads the next bytes. Returns true if the body has such a member, up to these bytes. */
  public boolean finds(byte[] bytes, int from, int to) {
    for (int i = from; i < to && state != State.FOUND && state != State.OTHER; i++) {
      int b = bytes[i] & 0xFF;
      state =
          switch (state) {
            case START -> start(b);
            case OPENED -> {
              wideText = b == 0;
              yield wideText ? State.FOUND : json(b);
            }
            case JSON -> json(b);
            case STRING -> string(b);
            case ESCAPE -> {
              add(b);
              yield State.STRING;
            }
            case FOUND, OTHER -> throw new AssertionError("the loop ends before");
          };
    }
    return state == State.FOUND;
  }

  private State start(int b) {
    boolean mark = before < UTF8_MARK.length && b == UTF8_MARK[before];
    before = Math.min(before + 1, UTF8_MARK.length);
    return switch (b) {
      case '{' -> {
        depth = 1;
        wideText = wide;
        yield wide ? State.FOUND : State.OPENED;
      }
      case ' ', '\t', '\n', '\r' -> State.START;
      case 0, 0xFE, 0xFF -> {
        wide = true;
        yield State.START;
      }
      default -> mark ? State.START : State.OTHER;
    };
  }

  private State json(int b) {
    switch (b) {
      case '"' -> {
        length = 0;
        return State.STRING;
      }
      case '{', '[' -> depth++;
      case '}', ']' -> depth--;
      case ':' -> {
        if (named()) {
          return State.FOUND;
        }
      }
      default -> {}
    }
    return State.JSON;
  }

  private State string(int b) {
    if (b == '"') {
      return State.JSON;
    }
    add(b);
    return b == '\\' ? State.ESCAPE : State.STRING;
  }

  private void add(int b) {
    if (depth > HandoverFields.DEEPEST) {
      length = MOST_NAME + 1;
    } else if (length < MOST_NAME) {
      name[length++] = (byte) b;
    } else {
      length = MOST_NAME + 1;
    }
  }

  /** True if the last string, in front of a colon, is the name of such a member. */
  private boolean named() {
    if (length == 0 || length > MOST_NAME || depth > HandoverFields.DEEPEST) {
      return false;
    }
    String text = JsonText.decode(name, 0, length);
    return depth == 1 ? HandoverFields.TOP.contains(text) : text.equals(HandoverFields.PARAMETERS);
  }
}
