package io.pointsman.proxy.wire;

/**
 * Validator of the extensions of a client's chunk: {@code ;name}, {@code ;name=token} or {@code
 * ;name="text"}. It refuses white space, and escapes in quotes, which the RFC permits. Clients do
 * not send them, and servers disagree about their end.
 */
final class ChunkExtensions {
  private enum State {
    NAME_START,
    NAME,
    VALUE_START,
    VALUE,
    QUOTED,
    QUOTE_END
  }

  private State state = State.NAME_START;

  /** Starts after the semicolon that follows the size. */
  void begin() {
    state = State.NAME_START;
  }

  /** Reads one more byte. Returns false if it is invalid. */
  boolean next(byte b) {
    return switch (state) {
      case NAME_START -> become(State.NAME, Bytes.token(b));
      case NAME -> b == '=' ? become(State.VALUE_START, true) : inside(b);
      case VALUE_START ->
          b == '"' ? become(State.QUOTED, true) : become(State.VALUE, Bytes.token(b));
      case VALUE -> inside(b);
      case QUOTED -> b == '"' ? become(State.QUOTE_END, true) : b >= ' ' && b != '\\' && b != 0x7F;
      case QUOTE_END -> become(State.NAME_START, b == ';');
    };
  }

  private boolean inside(byte b) {
    return b == ';' ? become(State.NAME_START, true) : Bytes.token(b);
  }

  private boolean become(State next, boolean fits) {
    state = next;
    return fits;
  }

  /** True if the line may end here. */
  boolean complete() {
    return state == State.NAME || state == State.VALUE || state == State.QUOTE_END;
  }
}
