package io.pointsman.proxy.stored;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.ChunkFraming;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the id of a new response, at the start of a relayed answer. It reads at most 16 KiB,
 * without the transfer coding.
 *
 * <p>The id is the member {@code id} of the answer, or of the object {@code response} of an event.
 * A member {@code id} in any other place does not count: clients and models choose metadata, tools
 * and arguments of calls.
 */
public final class ResponseIdSniffer implements ChunkFraming.Contents {
  private static final int MOST_BYTES = 16_384;

  /**
   * Maximum length of an id in characters. Ids that the router generated are long if they contain
   * the addresses of two engines.
   */
  private static final int LONGEST = 512;

  private static final String DATA = "data:";
  private static final String ID = "id";
  private static final String RESPONSE = "response";

  /** Value of {@link #field} for a line that is no data. */
  private static final int OTHER_LINE = -1;

  private enum State {
    /** Before the first byte. */
    START,
    /** In the name of a line of events. */
    LINE,
    JSON,
    /** At the end, or where no id can follow. */
    DONE
  }

  private final BodyFraming framing;
  private State state = State.START;
  private int read;

  /** True if the answer is a stream of events. */
  private boolean events;

  /** Number of characters of the line's name that match; {@link #OTHER_LINE} if one does not. */
  private int field;

  /** Number of open objects and lists. */
  private int depth;

  /** True if the second open object is the member {@code response}. */
  private boolean inResponse;

  /** True behind the colon of a member. */
  private boolean valued;

  private boolean inString;
  private boolean escaped;

  /** Start of the current string; longer than {@link #LONGEST} or with an escape: no id. */
  private final StringBuilder text = new StringBuilder();

  /** Name of the current member. */
  private String key = "";

  private @Nullable String id;

  /**
   * @param framing framing of the answer's body, for this reader only
   */
  public ResponseIdSniffer(BodyFraming framing) {
    this.framing = framing;
  }

  /**
   * Records {@code by} as the worker with the response, once {@code bytes} complete the id.
   *
   * @param client the client that creates the response, see {@link
   *     io.pointsman.proxy.identity.ClientOwner}; called only if the id is complete, because a name
   *     can cost a hash
   * @return true if nothing more can be learned
   */
  public boolean learn(ByteBuf bytes, Worker by, ResponseOwners owners, Supplier<String> client) {
    if (state != State.DONE) {
      read(bytes);
      String found = id;
      if (found != null) {
        owners.learn(found, by.id(), client.get());
      }
    }
    return state == State.DONE;
  }

  private void read(ByteBuf bytes) {
    int from = bytes.readerIndex();
    int to = bytes.writerIndex();
    if (framing.kind() == BodyFraming.Kind.CHUNKED) {
      int _ = framing.chunks().read(bytes, from, to, this);
    } else {
      int end = framing.scan(bytes, from, to);
      content(bytes, from, (end < 0 ? to : end) - from);
    }
  }

  /** The id of the response; null before it was read. */
  public @Nullable String id() {
    return id;
  }

  @Override
  public void content(ByteBuf bytes, int from, int length) {
    int to = from + Math.min(length, MOST_BYTES - read);
    read += to - from;
    for (int i = from; i < to && state != State.DONE; i++) {
      char c = (char) (bytes.getByte(i) & 0xFF);
      switch (state) {
        case START -> start(c);
        case LINE -> line(c);
        case JSON -> json(c);
        case DONE -> throw new AssertionError("the loop ends before");
      }
    }
    if (read >= MOST_BYTES) {
      state = State.DONE;
    }
  }

  private void start(char c) {
    if (c == '{') {
      state = State.JSON;
      json(c);
    } else if (c > ' ') {
      events = true;
      nextLine();
      line(c);
    }
  }

  private void nextLine() {
    state = State.LINE;
    field = 0;
    depth = 0;
    inResponse = false;
    inString = false;
    escaped = false;
    valued = false;
  }

  private void line(char c) {
    if (c == '\n') {
      field = 0;
    } else if (field != OTHER_LINE) {
      field = c == DATA.charAt(field) ? field + 1 : OTHER_LINE;
      if (field == DATA.length()) {
        state = State.JSON;
      }
    }
  }

  private void json(char c) {
    if (events && c == '\n') {
      nextLine();
    } else if (inString) {
      string(c);
    } else {
      switch (c) {
        case '"' -> {
          inString = true;
          text.setLength(0);
        }
        case '{', '[' -> opens(c == '{');
        case '}', ']' -> closes();
        case ':' -> valued |= counts();
        case ',' -> valued &= !counts();
        default -> {}
      }
    }
  }

  /** True directly within the object of the response, or of the event around it. */
  private boolean counts() {
    return depth == 1 || (depth == 2 && inResponse);
  }

  private void opens(boolean object) {
    depth++;
    if (depth == 2) {
      inResponse = events && object && valued && key.equals(RESPONSE);
    }
    if (counts()) {
      valued = false;
    }
  }

  private void closes() {
    depth--;
    if (depth == 1) {
      inResponse = false;
      valued = true;
    } else if (depth == 0 && !events) {
      state = State.DONE;
    }
  }

  private void string(char c) {
    if (escaped) {
      escaped = false;
    } else if (c == '\\') {
      escaped = true;
      text.setLength(LONGEST + 1);
    } else if (c == '"') {
      inString = false;
      ended();
    } else if (text.length() <= LONGEST) {
      text.append(c);
    }
  }

  private void ended() {
    if (!counts()) {
      return;
    }
    boolean usable = !text.isEmpty() && text.length() <= LONGEST;
    if (!valued) {
      key = usable ? text.toString() : "";
    } else if (key.equals(ID) && depth == (events ? 2 : 1)) {
      id = usable ? text.toString() : null;
      state = State.DONE;
    }
  }
}
