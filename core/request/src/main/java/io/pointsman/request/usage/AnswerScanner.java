package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.request.event.EngineEnd;
import java.util.Arrays;

/**
 * Search in the contents of an answer, as they pass: token counts, signs that the engine aborted
 * the request, and errors that report the end of the engine. The counts may stand anywhere, and the
 * contents may be split at any byte.
 *
 * <p>The answer is not parsed. In JSON a quotation mark inside a string is escaped, so a search
 * finds member names. It compares seven bytes at a time, the end of each name (Horspool's search
 * for a set). Only an object of counts is read byte by byte, and its lists are left out. Memory is
 * bounded.
 */
public final class AnswerScanner {
  /** Kind of answer. It decides which names are searched. */
  @SuppressWarnings("ImmutableEnumChecker") // the table does not change
  public enum Form {
    /** Counts only; SGLang reports them in {@code meta_info}. */
    COUNTS("usage", "meta_info"),
    /** Choices with a {@code finish_reason}; llama.cpp reports counts in {@code timings}. */
    CHOICES("usage", "abort", "timings", "error"),
    /** A message, with {@code stop_reason}. */
    MESSAGE("usage", "stop_reason", "error"),
    /** A response, with {@code status}. */
    RESPONSE("usage", "cancelled", "incomplete", "error"),
    /** Unknown: counts, and a {@code finish_reason} in any place. */
    ANY("usage", "meta_info", "abort", "timings", "error");

    /** Distance to the next candidate, by the ASCII character at the end of the current one. */
    private final byte[] steps = new byte[128];

    Form(String... names) {
      Arrays.fill(steps, (byte) WINDOW);
      for (String name : names) {
        String quoted = "\"" + name + "\"";
        String end = quoted.substring(quoted.length() - WINDOW);
        for (int i = 0; i < WINDOW - 1; i++) {
          char c = end.charAt(i);
          steps[c] = (byte) Math.min(steps[c], WINDOW - 1 - i);
        }
      }
    }
  }

  private enum State {
    SEARCHING,
    /** After a name, before its colon. */
    NAMED,
    /** After the colon, before the value. */
    VALUE,
    /** Within an object of counts. */
    COUNTING,
    /** Within the description of an error. */
    REPORT
  }

  private enum Name {
    USAGE,
    META,
    TIMINGS,
    STOP,
    ERROR
  }

  /** Number of bytes that are compared at a time, with the closing quotation mark. */
  private static final int WINDOW = 7;

  /** Number of bytes before the current ones that are kept, for a name and the one before it. */
  private static final int KEPT = 64;

  /** Maximum number of bytes of an object of counts, without its lists. */
  private static final int MOST_COUNTS = 2048;

  /** Maximum number of bytes of an error's description. */
  private static final int MOST_REPORT = 1024;

  private static final byte[] USAGE = ascii("\"usage\"");
  private static final byte[] META = ascii("\"meta_info\"");
  private static final byte[] TIMINGS = ascii("\"timings\"");
  private static final byte[] ABORT = ascii("\"abort\"");
  private static final byte[] ERROR = ascii("\"error\"");
  private static final byte[] TYPE = ascii("\"type\"");
  private static final byte[] FINISH_REASON = ascii("\"finish_reason\"");
  private static final byte[] STOP_REASON = ascii("\"stop_reason\"");
  private static final byte[] DELTA = ascii("\"delta\"");
  private static final byte[] STATUS = ascii("\"status\"");
  private static final byte[] CANCELLED = ascii("\"cancelled\"");
  private static final byte[] INCOMPLETE = ascii("\"incomplete\"");
  private static final String PROMPT_TOKENS = "\"prompt_tokens\"";
  private static final byte[] NOTHING = {};

  private final Form form;
  private final byte[] steps;
  private final byte[] before = new byte[KEPT];
  private int kept;

  /** The bytes of the current call; index {@code first} follows the kept ones. */
  private byte[] bytes = NOTHING;

  private int first;

  private State state = State.SEARCHING;
  private Name name = Name.USAGE;

  /** The last object of counts. */
  private byte[] counts = NOTHING;

  private int length;
  private int depth;
  private int lists;
  private boolean inString;
  private boolean escaped;

  /** True if the counts are those of a {@code usage}. */
  private boolean used;

  /** True if the counts are those of a {@code timings}. */
  private boolean timed;

  /** Counts of the start of a message, which its end may leave out. */
  private Usage earlier = Usage.UNKNOWN;

  /** True if the current {@code stop_reason} is the first member of a {@code delta}. */
  private boolean inDelta;

  private boolean stopped;
  private boolean limited;
  private boolean unexplained;
  private boolean aborted;

  /** The description of the last error. */
  private byte[] report = NOTHING;

  private int reported;
  private EngineEnd end = EngineEnd.NONE;

  /** Index of the sign of an abort within the bytes of the current call. */
  private int abortedAt;

  public AnswerScanner(Form form) {
    this.form = form;
    steps = form.steps;
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
    this.bytes = bytes;
    first = from;
    int at = from;
    while (at < to) {
      at =
          switch (state) {
            case SEARCHING -> search(at, to);
            case NAMED, VALUE -> value(at, to);
            case COUNTING -> count(at, to);
            case REPORT -> report(at, to);
          };
    }
    if (state == State.REPORT) {
      readReport();
    }
    keep(bytes, from, to);
    this.bytes = NOTHING;
  }

  private void keep(byte[] bytes, int from, int to) {
    int fresh = Math.min(KEPT, to - from);
    int stays = Math.min(kept, KEPT - fresh);
    System.arraycopy(before, kept - stays, before, 0, stays);
    System.arraycopy(bytes, to - fresh, before, stays, fresh);
    kept = stays + fresh;
  }

  /** The byte at an index of the current bytes, or of the kept ones before them; 0 before all. */
  private byte at(int index) {
    if (index >= first) {
      return bytes[index];
    }
    int back = first - index;
    return back <= kept ? before[kept - back] : 0;
  }

  /** Index after the next name, or {@code to}. */
  private int search(int from, int to) {
    int at = from;
    if (from == first) {
      for (; at < Math.min(to, from + WINDOW - 1); at++) {
        if (bytes[at] == '"' && named(at)) {
          return at + 1;
        }
      }
    } else {
      at += WINDOW - 1;
    }
    while (at < to) {
      byte last = bytes[at];
      if (last == '"' && named(at)) {
        return at + 1;
      }
      at += last < 0 ? WINDOW : steps[last];
    }
    return to;
  }

  /** Handles the name that ends at {@code end}, a quotation mark. Returns false if it is none. */
  private boolean named(int end) {
    return switch (at(end - 1)) {
      case 'e' ->
          ends(USAGE, end)
              ? awaits(Name.USAGE)
              : form == Form.RESPONSE && ends(INCOMPLETE, end) && limit(end);
      case 'o' -> !used && ends(META, end) && awaits(Name.META);
      case 't' -> ends(ABORT, end) && valueOf(FINISH_REASON, end - ABORT.length) && abort(end);
      case 'd' ->
          form == Form.RESPONSE
              && ends(CANCELLED, end)
              && valueOf(STATUS, end - CANCELLED.length)
              && abort(end);
      case 'n' -> form == Form.MESSAGE && ends(STOP_REASON, end) && stops(end);
      case 'r' -> form != Form.COUNTS && ends(ERROR, end) && reports(end);
      case 's' -> !used && ends(TIMINGS, end) && awaits(Name.TIMINGS);
      default -> false;
    };
  }

  private boolean awaits(Name named) {
    name = named;
    state = State.NAMED;
    return true;
  }

  /** An error is described by the value of its member, or by the object that has it as its type. */
  private boolean reports(int end) {
    if (!valueOf(TYPE, end - ERROR.length)) {
      return awaits(Name.ERROR);
    }
    beginReport();
    return true;
  }

  private void beginReport() {
    reported = 0;
    state = State.REPORT;
  }

  /** Copies the description of an error, which ends with its line. */
  private int report(int from, int to) {
    if (report.length == 0) {
      report = new byte[MOST_REPORT];
    }
    for (int at = from; at < to; at++) {
      if (bytes[at] == '\n' || reported == MOST_REPORT) {
        readReport();
        state = State.SEARCHING;
        return at;
      }
      report[reported++] = bytes[at];
    }
    return to;
  }

  private void readReport() {
    if (end == EngineEnd.NONE) {
      end = EngineEnd.of(new String(report, 0, reported, ISO_8859_1));
    }
  }

  private boolean limit(int end) {
    limited |= valueOf(STATUS, end - INCOMPLETE.length);
    return true;
  }

  private boolean abort(int at) {
    if (!aborted) {
      aborted = true;
      abortedAt = at;
    }
    return true;
  }

  private boolean stops(int end) {
    int open = blank(end - STOP_REASON.length);
    inDelta = at(open) == '{' && valueOf(DELTA, open - 1);
    return awaits(Name.STOP);
  }

  /** True if these bytes end at {@code end}. */
  private boolean ends(byte[] text, int end) {
    for (int i = text.length - 1, at = end; i >= 0; i--, at--) {
      if (at(at) != text[i]) {
        return false;
      }
    }
    return true;
  }

  /** True if a colon and the name {@code member} stand before the value that follows {@code at}. */
  private boolean valueOf(byte[] member, int at) {
    int colon = blank(at);
    return at(colon) == ':' && ends(member, blank(colon - 1));
  }

  /** Index of the last byte that is no white space, from {@code from} backwards. */
  private int blank(int from) {
    int at = from;
    while (white(at(at))) {
      at--;
    }
    return at;
  }

  private static boolean white(byte b) {
    return b == ' ' || b == '\n' || b == '\r' || b == '\t';
  }

  /** Skips a colon and white space, up to the value. */
  private int value(int from, int to) {
    int at = from;
    while (at < to) {
      byte b = bytes[at];
      if (state == State.NAMED && b == ':') {
        state = State.VALUE;
      } else if (!white(b)) {
        boolean valued = state == State.VALUE;
        state = State.SEARCHING;
        if (valued) {
          begins(b, at);
        }
        return at;
      }
      at++;
    }
    return to;
  }

  private void begins(byte value, int at) {
    if (name == Name.STOP) {
      stopped |= value == '"';
      if (value == 'n' && inDelta) {
        abort(at);
      }
    } else if (name == Name.ERROR) {
      if (value == '{' || value == '"') {
        beginReport();
      }
    } else if (value == '{') {
      if (form == Form.MESSAGE) {
        earlier = usage();
      }
      used |= name == Name.USAGE;
      timed = name == Name.TIMINGS;
      length = 0;
      depth = 0;
      lists = 0;
      inString = false;
      escaped = false;
      state = State.COUNTING;
    }
  }

  /** Copies an object of counts without its lists. */
  private int count(int from, int to) {
    for (int at = from; at < to; at++) {
      byte b = bytes[at];
      if (escaped) {
        escaped = false;
      } else if (b == '\\') {
        escaped = inString;
      } else if (b == '"') {
        inString = !inString;
      } else if (!inString) {
        depth += b == '{' ? 1 : b == '}' ? -1 : 0;
        lists += b == '[' ? 1 : b == ']' ? -1 : 0;
      }
      if (lists == 0 && length < MOST_COUNTS) {
        add(b);
      }
      if (depth == 0) {
        state = State.SEARCHING;
        counted(at);
        return at + 1;
      }
    }
    return to;
  }

  private void add(byte b) {
    if (length == counts.length) {
      counts = Arrays.copyOf(counts, Math.max(128, 2 * length));
    }
    counts[length++] = b;
  }

  /** An answer that counts no output has none: its request was aborted before the first token. */
  private void counted(int at) {
    if (form != Form.RESPONSE || limited) {
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
    if (form == Form.MESSAGE && used && !stopped && !isChat()) {
      abort(first);
    }
  }

  private boolean isChat() {
    return new String(counts, 0, length, ISO_8859_1).contains(PROMPT_TOKENS);
  }

  /**
   * The counts in the last {@code usage}, or in the last {@code meta_info} or {@code timings} if
   * there is no usage. The prompt of a message may be counted only at its start.
   *
   * @return -1 for each count that is absent
   */
  public Usage usage() {
    if (length == 0) {
      return Usage.UNKNOWN;
    }
    if (timed) {
      return UsageCounts.timings(counts, 0, length);
    }
    Usage last = UsageCounts.read(counts, 0, length);
    return last.promptTokens() >= 0 || earlier.promptTokens() < 0
        ? last
        : new Usage(earlier.promptTokens(), earlier.cachedTokens(), last.completionTokens());
  }

  /** True if the answer says that the engine aborted the request. */
  public boolean aborted() {
    return aborted;
  }

  /** The end of the engine that an error in the answer reports. */
  public EngineEnd engineEnd() {
    return end;
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
