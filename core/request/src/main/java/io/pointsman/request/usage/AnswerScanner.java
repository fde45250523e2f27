package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.request.event.EngineEnd;
import java.util.Arrays;

/**
 * Search in the contents of an answer, as they pass: token counts, signs that the engine aborted
 * the request, and errors that report the end of the engine. The counts may stand anywhere in an
 * answer, and the contents may be split at any byte.
 *
 * <p>A member counts only in its own {@link AnswerPlace}. An answer also contains members that a
 * client or a model chooses: metadata, schemas of tools, arguments of calls. They lie deeper, or
 * they are text. An error is read by {@link EngineEnd}.
 *
 * <p>Most events of a stream contain none of the names. A search that compares seven bytes at a
 * time, the end of each name (Horspool's search for a set), finds these events, and skips them.
 * Memory is bounded.
 */
public final class AnswerScanner {
  /** Kind of answer. It decides which members are read. */
  @SuppressWarnings("ImmutableEnumChecker") // the search does not change
  public enum Form {
    /** Counts only; SGLang reports them in {@code meta_info}. */
    COUNTS("usage", "meta_info"),
    /** Choices with a {@code finish_reason}; llama.cpp reports counts in {@code timings}. */
    CHOICES("usage", "abort", "timings", "error"),
    /** A message, with {@code stop_reason}. */
    MESSAGE("usage", "stop_reason", "error"),
    /** A response, with {@code status}. */
    RESPONSE("usage", "cancelled", "completed", "incomplete", "failed", "error"),
    /** Unknown: counts, and choices with a {@code finish_reason}. */
    ANY("usage", "meta_info", "abort", "timings", "error");

    final QuietEvents quiet;

    Form(String... names) {
      quiet = new QuietEvents(names);
    }

    boolean choices() {
      return this == CHOICES || this == ANY;
    }
  }

  private enum State {
    /** Before the first byte. */
    START,
    /** In the name of a line of events. */
    LINE,
    /** In JSON, or between two documents. */
    JSON,
    /** Within an object of counts. */
    COUNTING,
    /** Within the object that describes an error. */
    ERROR
  }

  /** The part of a string that is kept. */
  private enum Keep {
    NOTHING,
    /** A name, or a short value. */
    WORD,
    /** The description of an error. */
    ERROR
  }

  /** Longer than each name and value that is read. */
  private static final int MOST_WORD = 16;

  private static final byte[] DATA = ascii("data:");
  private static final byte[] ABORT = ascii("abort");
  private static final byte[] IS_ERROR = ascii("error");
  private static final byte[] CANCELLED = ascii("cancelled");
  private static final byte[] COMPLETED = ascii("completed");
  private static final byte[] INCOMPLETE = ascii("incomplete");
  private static final byte[] FAILED = ascii("failed");
  private static final byte[] IN_PROGRESS = ascii("in_progress");
  private static final byte[] QUEUED = ascii("queued");
  private static final byte[] NOTHING = {};

  /** Marks a line that is no data. */
  private static final int OTHER_LINE = -1;

  private final Form form;
  private State state = State.START;

  /** True if the answer is a stream of events. Its JSON then ends with its event. */
  private boolean events;

  /** Number of bytes of the line's name that match; {@link #OTHER_LINE} if one does not. */
  private int field;

  /** The bytes of the current call. */
  private byte[] bytes = NOTHING;

  private AnswerPlace place = AnswerPlace.OUTSIDE;

  /** True if the top object lies in a list. */
  private boolean listed;

  /** Number of open objects and lists below the place. Their members do not count. */
  private int below;

  /** The member with the current value. */
  private AnswerMember member = AnswerMember.NONE;

  /** True behind the colon of a member. */
  private boolean valued;

  /** True before the first comma of the place. */
  private boolean leads;

  private boolean inString;
  private boolean escaped;
  private Keep keep = Keep.NOTHING;
  private final byte[] word = new byte[MOST_WORD];
  private int wordLength;

  private final CountsCopy counts;
  private final ErrorCopy error = new ErrorCopy();
  private boolean stopped;
  private boolean limited;

  /** True if the current response has the status of an unfinished one. */
  private boolean unfinished;

  /** True if the current response has the status of a finished one. */
  private boolean finished;

  /** True after a complete response with the status of a finished one. */
  private boolean responded;

  private boolean unexplained;
  private boolean aborted;

  /** True if the top object is an error itself. */
  private boolean isError;

  /** True if the error that was read last is the text of the top object. */
  private boolean hasText;

  /** Index of the sign of an abort within the bytes of the current call. */
  private int abortedAt;

  public AnswerScanner(Form form) {
    this.form = form;
    counts = new CountsCopy(form == Form.MESSAGE);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }

  /**
   * Reads the next contents, without their transfer coding.
   *
   * @param to index after the last byte
   */
  public void read(byte[] bytes, int from, int to) {
    if (betweenEvents() && form.quiet.all(bytes, from, to)) {
      begin(bytes, from, to);
      return;
    }
    this.bytes = bytes;
    int at = begin(bytes, from, to);
    while (at < to) {
      at =
          switch (state) {
            case START -> to;
            case LINE -> line(at, to);
            case JSON -> inString ? string(at, to) : json(at, to);
            case COUNTING -> count(at, to);
            case ERROR -> error(at, to);
          };
    }
    this.bytes = NOTHING;
  }

  private boolean betweenEvents() {
    return state == State.START
        || (state == State.LINE && field == 0 && place == AnswerPlace.OUTSIDE);
  }

  /** Skips white space before the first byte, which distinguishes JSON from events. */
  private int begin(byte[] bytes, int from, int to) {
    int at = from;
    while (state == State.START && at < to) {
      byte b = bytes[at];
      if (white(b)) {
        at++;
      } else {
        events = b != '{' && b != '[';
        state = events ? State.LINE : State.JSON;
      }
    }
    return at;
  }

  private static boolean white(byte b) {
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
  }

  /** Reads the name of a line. Only lines of data contain JSON. An empty line ends its event. */
  private int line(int from, int to) {
    for (int at = from; at < to; at++) {
      byte b = bytes[at];
      if (b == '\n') {
        if (field == 0) {
          leave();
        }
        field = 0;
      } else if ((field != 0 || b != '\r') && endsName(b)) {
        state = State.JSON;
        return at + 1;
      }
    }
    return to;
  }

  /** Reads a byte of a line's name. Returns true if data follows it. */
  private boolean endsName(byte b) {
    field = field != OTHER_LINE && b == DATA[field] ? field + 1 : OTHER_LINE;
    return field == DATA.length;
  }

  private void nextLine() {
    state = State.LINE;
    field = 0;
  }

  /** Ends all objects, also incomplete ones. */
  private void leave() {
    enter(AnswerPlace.OUTSIDE);
    listed = false;
    below = 0;
    inString = false;
    escaped = false;
  }

  private int json(int from, int to) {
    for (int at = from; at < to; at++) {
      switch (bytes[at]) {
        case '"' -> {
          opensString(at);
          return at + 1;
        }
        case '{' -> {
          opens(true);
          if (state != State.JSON) {
            return at;
          }
        }
        case '[' -> opens(false);
        case '}', ']' -> closes();
        case ':' -> valued |= below == 0;
        case ',' -> {
          if (below == 0) {
            valued = false;
            leads = false;
          }
        }
        case 'n' -> {
          if (below == 0 && valued && member == AnswerMember.STOP) {
            unstopped(at);
          }
        }
        case '\n' -> {
          if (events) {
            nextLine();
            return at + 1;
          }
        }
        default -> {}
      }
    }
    return to;
  }

  /** A part of a message has its reason as the first member. Null there ends an aborted one. */
  private void unstopped(int at) {
    if (form == Form.MESSAGE && place == AnswerPlace.DELTA && leads) {
      abort(at);
    }
  }

  private void opens(boolean object) {
    if (below > 0) {
      below++;
      return;
    }
    if (object && valued && begins()) {
      return;
    }
    AnswerPlace next = place.inner(valued ? member : AnswerMember.NONE, object);
    if (next == AnswerPlace.OUTSIDE) {
      below = 1;
      return;
    }
    if (next == AnswerPlace.TOP) {
      listed = place == AnswerPlace.LIST;
      isError = false;
      hasText = false;
    }
    if (next == AnswerPlace.RESPONSE) {
      unfinished = false;
      finished = false;
    }
    enter(next);
    leads = true;
  }

  private void closes() {
    if (below > 0) {
      below--;
    } else {
      responded |= finished && place == AnswerPlace.RESPONSE;
      enter(place.outer(listed));
    }
  }

  private void enter(AnswerPlace next) {
    place = next;
    member = AnswerMember.NONE;
    valued = false;
    leads = false;
  }

  /** Begins to read an object of counts or an error, if the value is one. */
  private boolean begins() {
    switch (member) {
      case USAGE -> beginCounts();
      case META -> {
        if (counts.used() || (form != Form.COUNTS && form != Form.ANY)) {
          return false;
        }
        beginCounts();
      }
      case TIMINGS -> {
        if (counts.used() || !form.choices()) {
          return false;
        }
        beginCounts();
      }
      case ERROR -> {
        if (form == Form.COUNTS) {
          return false;
        }
        beginError();
        state = State.ERROR;
      }
      case NONE, TYPE, CHOICES, RESPONSE, MESSAGE, DELTA, STATUS, FINISH, STOP -> {
        return false;
      }
    }
    return true;
  }

  private void beginCounts() {
    counts.begin(member);
    state = State.COUNTING;
  }

  private void beginError() {
    error.begin();
    hasText = false;
  }

  private void opensString(int at) {
    inString = true;
    keep = Keep.NOTHING;
    if (below > 0 || !place.object()) {
      return;
    }
    wordLength = 0;
    if (!valued) {
      keep = Keep.WORD;
      return;
    }
    switch (member) {
      case TYPE, STATUS, FINISH -> keep = Keep.WORD;
      case STOP -> stopped = true;
      case ERROR, MESSAGE -> {
        if (form != Form.COUNTS) {
          keep = Keep.ERROR;
          beginError();
          error.add(bytes, at, at + 1);
        }
      }
      case NONE, USAGE, META, TIMINGS, CHOICES, RESPONSE, DELTA -> {}
    }
  }

  private int string(int from, int to) {
    int at = from;
    while (at < to) {
      if (!escaped) {
        int end = PlainText.end(bytes, at, to);
        copy(at, end);
        at = end;
      }
      if (at < to) {
        byte b = bytes[at];
        if (escaped) {
          escaped = false;
        } else if (b == '\\') {
          escaped = true;
        } else if (b == '"') {
          inString = false;
          closesString(at);
          return at + 1;
        } else if (b == '\n' && events) {
          leave();
          nextLine();
          return at + 1;
        }
        copy(at, at + 1);
        at++;
      }
    }
    return to;
  }

  /** Copies a part of a string, if it is kept. */
  private void copy(int from, int to) {
    switch (keep) {
      case NOTHING -> {}
      case WORD -> {
        int length = Math.min(to - from, MOST_WORD - wordLength);
        System.arraycopy(bytes, from, word, wordLength, length);
        wordLength += length;
      }
      case ERROR -> error.add(bytes, from, to);
    }
  }

  private void closesString(int at) {
    switch (keep) {
      case NOTHING -> {}
      case WORD -> {
        if (valued) {
          says(at);
        } else {
          member = place.member(word, wordLength);
        }
      }
      case ERROR -> {
        hasText = member == AnswerMember.MESSAGE;
        if (!hasText || isError) {
          error.read();
        }
      }
    }
  }

  /** Reads a short value. */
  private void says(int at) {
    switch (member) {
      case FINISH -> {
        if (form.choices() && is(ABORT)) {
          abort(at);
        }
      }
      case STATUS -> {
        if (form == Form.RESPONSE) {
          unfinished = is(IN_PROGRESS) || is(QUEUED);
          finished = is(COMPLETED) || is(INCOMPLETE) || is(FAILED);
          limited |= is(INCOMPLETE);
          if (is(CANCELLED)) {
            abort(at);
          }
        }
      }
      case TYPE -> {
        isError |= is(IS_ERROR);
        if (isError && hasText) {
          error.read();
        }
      }
      case NONE, USAGE, META, TIMINGS, ERROR, CHOICES, RESPONSE, MESSAGE, DELTA, STOP -> {}
    }
  }

  private boolean is(byte[] text) {
    return Arrays.equals(word, 0, wordLength, text, 0, text.length);
  }

  private void abort(int at) {
    if (!aborted) {
      aborted = true;
      abortedAt = at;
    }
  }

  /** Copies the object that describes an error. */
  private int error(int from, int to) {
    for (int at = from; at < to; at++) {
      if (cut(bytes[at])) {
        return at + 1;
      }
      if (error.ends(bytes[at])) {
        error.read();
        state = State.JSON;
        return at + 1;
      }
    }
    return to;
  }

  /** Reads an object of counts, or copies the part of it that has come. */
  private int count(int from, int to) {
    int end = counts.whole(bytes, from, to);
    if (end > from) {
      state = State.JSON;
      counted(end - 1);
      return end;
    }
    for (int at = from; at < to; at++) {
      if (cut(bytes[at])) {
        return at + 1;
      }
      if (counts.ends(bytes[at])) {
        state = State.JSON;
        counted(at);
        return at + 1;
      }
    }
    return to;
  }

  /** Ends an object that its event leaves incomplete. */
  private boolean cut(byte b) {
    if (!events || b != '\n') {
      return false;
    }
    leave();
    nextLine();
    return true;
  }

  /** An answer that counts no output has none: its request was aborted before the first token. */
  private void counted(int at) {
    if (form != Form.RESPONSE || limited || unfinished) {
      return;
    }
    int completion = usage().completionTokens();
    unexplained = completion >= 0;
    if (completion == 0) {
      abort(at);
    } else if (unexplained && !aborted) {
      abortedAt = at;
    }
  }

  /**
   * Reports the end of an answer in one piece. A complete message says why it stopped. Some engines
   * answer with a chat instead. Its counts have other names.
   */
  public void ended() {
    if (form == Form.MESSAGE && counts.used() && !stopped && !counts.ofChat()) {
      abort(0);
    }
  }

  /**
   * The counts in the last {@code usage}, or in the last {@code meta_info} or {@code timings} if
   * there is no usage. The prompt of a message may be counted only at its start.
   *
   * @return -1 for each count that is absent
   */
  public Usage usage() {
    return counts.usage();
  }

  /** True if the answer says that the engine aborted the request. */
  public boolean aborted() {
    return aborted;
  }

  /**
   * True if a message has the reason for its end, or an event has a response with the status of a
   * finished one.
   */
  public boolean saidItsEnd() {
    return switch (form) {
      case MESSAGE -> stopped;
      case RESPONSE -> responded;
      case COUNTS, CHOICES, ANY -> false;
    };
  }

  /** The end of the engine that an error in the answer reports. */
  public EngineEnd engineEnd() {
    return error.end();
  }

  /**
   * Index at which the last call of {@link #read} found an abort, or the end of a response that is
   * {@link #unexplained}.
   */
  public int abortedAt() {
    return abortedAt;
  }

  /**
   * True if the answer is a response that is complete without a known reason. Only the state of its
   * engine shows whether it was aborted.
   */
  public boolean unexplained() {
    return unexplained;
  }
}
