package io.pointsman.request.event;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Classifier of the events of a streamed answer: accepted, computed, output or error. It reads
 * OpenAI's chats, completions and responses, Anthropic's messages, and SGLang's own streams. The
 * start of an event is enough. Only errors are parsed. In JSON a quotation mark inside a string is
 * escaped, so a search finds member names.
 */
public final class EventReader {
  /**
   * Names of events before computation. vLLM sends the first two before it passes the request to
   * its engine.
   */
  private static final Set<String> TAKEN =
      Set.of("response.created", "response.in_progress", "response.queued", "ping");

  private static final Set<String> ERRORS = Set.of("error", "response.failed");

  /**
   * Start of a message. Engines send it with the first chunk of the chat that becomes the message.
   */
  private static final String MESSAGE_START = "message_start";

  /**
   * Parts of the error types that are the engine's fault. They decide only for errors without a
   * status.
   */
  private static final byte[][] ENGINES_OWN = {
    ascii("nternal"), ascii("server_error"), ascii("api_error"), ascii("timeout_error")
  };

  /** Part of the error type of an overload. */
  private static final byte[] OVERLOAD = ascii("overloaded");

  private static final byte[] EVENT = ascii("event:");
  private static final byte[] DATA = ascii("data:");
  private static final byte[] TYPE = ascii("\"type\"");
  private static final byte[] OBJECT = ascii("\"object\"");
  private static final byte[] ERROR = ascii("\"error\"");
  private static final byte[] RESPONSE = ascii("\"response\"");
  private static final byte[] ABORT = ascii("\"abort\"");
  private static final byte[] CODE = ascii("\"code\"");
  private static final byte[] STATUS_CODE = ascii("\"status_code\"");
  private static final byte[] META_INFO = ascii("\"meta_info\"");
  private static final byte[] FINISH_REASON = ascii("\"finish_reason\"");
  private static final byte[] DELTA = ascii("\"delta\"");
  private static final byte[] ROLE = ascii("\"role\"");

  /**
   * Maximum number of events to read from the end of a stream. An error is one of the last events.
   */
  private static final int MOST_EVENTS = 8;

  private static final int BUSY = 503;
  private static final int RATE_LIMITED = 429;
  private static final int OVERLOADED = 529;

  private EventReader() {}

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }

  /**
   * The kind of an event.
   *
   * @param event lines of the event, or the first bytes of them
   * @param length number of these bytes
   */
  public static EventKind kind(byte[] event, int length) {
    int data = field(DATA, event, length);
    String name = name(event, length, data);
    // Clients ignore an event without data, independent of its name.
    if (data < 0 ? !ERRORS.contains(name) : TAKEN.contains(name)) {
      return EventKind.TAKEN;
    }
    int from = data < 0 ? length : data;
    if (ERRORS.contains(name)) {
      return blame(event, reported(event, from, length), length);
    }
    EventKind fault = fault(event, from, length);
    if (fault != null) {
      return fault;
    }
    boolean opens = name.equals(MESSAGE_START) || opensChat(event, from, length);
    return opens ? EventKind.COMPUTED : EventKind.OUTPUT;
  }

  /**
   * The kind of the end of a complete stream.
   *
   * @param stream events, without their transfer coding
   * @return the kind of an error among the last events, or {@link EventKind#OUTPUT}
   */
  public static EventKind ending(byte[] stream) {
    int looked = 0;
    for (int to = stream.length; to > 0 && looked < MOST_EVENTS; ) {
      int from = to;
      while (from > 0 && stream[from - 1] != '\n') {
        from--;
      }
      if (matches(DATA, stream, from, to)) {
        looked++;
        int data = blank(stream, from + DATA.length, to);
        boolean named = ERRORS.contains(name(stream, from, data, to));
        EventKind fault =
            named ? blame(stream, reported(stream, data, to), to) : fault(stream, data, to);
        if (fault != null) {
          return fault;
        }
      }
      to = from - 1;
    }
    return EventKind.OUTPUT;
  }

  /** Start of the value of a field; -1 if the event has no such field. */
  private static int field(byte[] field, byte[] event, int length) {
    for (int line = 0; line < length; line = lineEnd(event, line, length) + 1) {
      if (matches(field, event, line, length)) {
        return blank(event, line + field.length, length);
      }
    }
    return -1;
  }

  private static int lineEnd(byte[] event, int from, int to) {
    int at = from;
    while (at < to && event[at] != '\n') {
      at++;
    }
    return at;
  }

  /** The name of the event, else the type at the start of its data; empty if it has neither. */
  private static String name(byte[] event, int length, int data) {
    int from = field(EVENT, event, length);
    return from >= 0 ? line(event, from, length) : type(event, data, length);
  }

  /** The name on the line before the event's data, else the type at the start of the data. */
  private static String name(byte[] stream, int line, int data, int to) {
    int before = Math.max(0, line - 1);
    while (before > 0 && stream[before - 1] != '\n') {
      before--;
    }
    return matches(EVENT, stream, before, line)
        ? line(stream, before + EVENT.length, line)
        : type(stream, data, to);
  }

  private static String line(byte[] bytes, int from, int to) {
    return new String(bytes, from, lineEnd(bytes, from, to) - from, US_ASCII).strip();
  }

  private static String type(byte[] bytes, int data, int to) {
    int type = data < 0 ? -1 : leading(TYPE, bytes, data, to);
    if (type < 0 || type >= to || bytes[type] != '"') {
      return "";
    }
    int end = type + 1;
    while (end < to && bytes[end] != '"') {
      end++;
    }
    return new String(bytes, type + 1, end - type - 1, US_ASCII);
  }

  /** The kind of error in an event's data; null if the data is no error. */
  private static @Nullable EventKind fault(byte[] bytes, int from, int to) {
    int error = leading(ERROR, bytes, from, to);
    int object = leading(OBJECT, bytes, from, to);
    boolean reported =
        error >= 0 ? error < to && bytes[error] != 'n' : matches(ERROR, bytes, object, to);
    int at = reported ? reported(bytes, from, to) : abort(bytes, from, to);
    return at < 0 ? null : blame(bytes, at, to);
  }

  /** Start of the object that describes an error: a member of the data, or the data itself. */
  private static int reported(byte[] bytes, int data, int to) {
    int response = member(RESPONSE, bytes, data, to);
    int error = member(ERROR, bytes, response < 0 ? data : response, to);
    return error >= 0 && error < to && bytes[error] == '{' ? error : data;
  }

  /**
   * Start of SGLang's reason for aborting the request; -1 if it did not abort. An abort without
   * status was requested by the client. Deeper members can be ones that a client has chosen.
   */
  private static int abort(byte[] bytes, int from, int to) {
    int reason = member(FINISH_REASON, bytes, member(META_INFO, bytes, from, to), to);
    int type = reason < 0 ? -1 : leading(TYPE, bytes, reason, to);
    boolean aborted =
        matches(ABORT, bytes, type, to) && member(STATUS_CODE, bytes, reason, to) >= 0;
    return aborted ? reason : -1;
  }

  /** The kind of error that an object describes. */
  private static EventKind blame(byte[] bytes, int error, int to) {
    int reported = member(STATUS_CODE, bytes, error, to);
    int code = member(CODE, bytes, error, to);
    int status = status(bytes, reported < 0 ? code : reported, to);
    boolean overloaded = contains(OVERLOAD, bytes, member(TYPE, bytes, error, to), to);
    if (status == BUSY || status == RATE_LIMITED || status == OVERLOADED || overloaded) {
      return EventKind.BUSY;
    }
    boolean own = enginesOwn(bytes, member(TYPE, bytes, error, to), to);
    boolean engines = status >= 500 || (status < 400 && (own || enginesOwn(bytes, code, to)));
    return engines ? EventKind.FAILED : EventKind.REFUSED;
  }

  /** True if a value is a string that contains a name of an engine's own error. */
  private static boolean enginesOwn(byte[] bytes, int value, int to) {
    return Arrays.stream(ENGINES_OWN).anyMatch(word -> contains(word, bytes, value, to));
  }

  /** True if a value is a string that contains a word. */
  private static boolean contains(byte[] word, byte[] bytes, int value, int to) {
    if (value < 0 || value >= to || bytes[value] != '"') {
      return false;
    }
    int end = Math.min(to, stringEnd(bytes, value + 1, to));
    return find(word, bytes, value, end) >= 0;
  }

  /** The status in a value, which is a number or a string; 0 if there is none. */
  private static int status(byte[] bytes, int value, int to) {
    if (value < 0) {
      return 0;
    }
    int at = value + (value < to && bytes[value] == '"' ? 1 : 0);
    int status = 0;
    for (int i = at; i < Math.min(to, at + 3) && bytes[i] >= '0' && bytes[i] <= '9'; i++) {
      status = status * 10 + bytes[i] - '0';
    }
    return status;
  }

  /** True if the event only opens a chat: it has a role and no output. */
  private static boolean opensChat(byte[] bytes, int from, int to) {
    int delta = value(DELTA, bytes, from, to);
    int reason = value(FINISH_REASON, bytes, from, to);
    boolean open = reason < 0 || (reason < to && bytes[reason] == 'n');
    return open && delta >= 0 && rolesOnly(bytes, delta, to);
  }

  /** True if an object has a role and only null or empty members beside it. */
  private static boolean rolesOnly(byte[] bytes, int from, int to) {
    boolean role = false;
    int at = blank(bytes, from + 1, to);
    while (at < to && bytes[at] == '"') {
      boolean here = matches(ROLE, bytes, at, to);
      int value = value(bytes, at, to);
      int end = here ? stringEnd(bytes, value + 1, to) : emptyEnd(bytes, value, to);
      if (value < 0 || end < 0) {
        return false;
      }
      role |= here;
      at = blank(bytes, end, to);
      at = at < to && bytes[at] == ',' ? blank(bytes, at + 1, to) : at;
    }
    return role && at < to && bytes[at] == '}';
  }

  /** Index after a value that is null or empty; -1 for any other value. */
  private static int emptyEnd(byte[] bytes, int from, int to) {
    if (from < 0 || from + 2 > to) {
      return -1;
    }
    if (bytes[from] == 'n') {
      return from + 4;
    }
    boolean empty =
        (bytes[from] == '"' && bytes[from + 1] == '"')
            || (bytes[from] == '[' && bytes[from + 1] == ']');
    return empty ? from + 2 : -1;
  }

  /** Index after the quotation mark that ends a string. */
  private static int stringEnd(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && bytes[at] != '"') {
      at += bytes[at] == '\\' ? 2 : 1;
    }
    return at + 1;
  }

  /** Start of the value of a direct member of the object with this name; -1 if there is none. */
  private static int member(byte[] name, byte[] bytes, int object, int to) {
    int depth = 0;
    for (int at = object; at >= 0 && at < to; ) {
      byte here = bytes[at];
      if (here == '"') {
        int value = depth == 1 && matches(name, bytes, at, to) ? value(bytes, at, to) : -1;
        if (value >= 0) {
          return value;
        }
        at = stringEnd(bytes, at + 1, to);
        continue;
      }
      depth += here == '{' || here == '[' ? 1 : here == '}' || here == ']' ? -1 : 0;
      if (depth == 0) {
        return -1;
      }
      at++;
    }
    return -1;
  }

  /** Start of the value of an object's first member; -1 if it has another name. */
  private static int leading(byte[] name, byte[] bytes, int object, int to) {
    if (object >= to || bytes[object] != '{') {
      return -1;
    }
    int first = blank(bytes, object + 1, to);
    return matches(name, bytes, first, to) ? value(bytes, first, to) : -1;
  }

  /** Start of the value of the first member with this name, at any depth; -1 if there is none. */
  private static int value(byte[] name, byte[] bytes, int from, int to) {
    int at = find(name, bytes, from, to);
    return at < 0 ? -1 : value(bytes, at, to);
  }

  /** Start of the value of the member at {@code name}; -1 if no colon follows the string. */
  private static int value(byte[] bytes, int name, int to) {
    int colon = blank(bytes, stringEnd(bytes, name + 1, to), to);
    return colon < to && bytes[colon] == ':' ? blank(bytes, colon + 1, to) : -1;
  }

  private static int find(byte[] what, byte[] bytes, int from, int to) {
    for (int at = from; at + what.length <= to; at++) {
      if (bytes[at] == what[0] && matches(what, bytes, at, to)) {
        return at;
      }
    }
    return -1;
  }

  private static boolean matches(byte[] what, byte[] bytes, int at, int to) {
    return at >= 0
        && at + what.length <= to
        && Arrays.equals(what, 0, what.length, bytes, at, at + what.length);
  }

  private static int blank(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && (bytes[at] == ' ' || bytes[at] == '\r' || bytes[at] == '\t')) {
      at++;
    }
    return at;
  }
}
