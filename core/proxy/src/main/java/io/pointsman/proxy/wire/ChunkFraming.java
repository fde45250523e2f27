package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * State machine over a chunked body (RFC 9112, 7.1), which it does not change. It finds the end,
 * the borders between chunks, and errors. The bytes may be split at any point.
 *
 * <p>Strict: sizes have at most 15 digits, lines end in CRLF, extensions and trailers are bounded.
 */
public final class ChunkFraming {
  /** Receiver of the contents of chunks. */
  @FunctionalInterface
  public interface Contents {
    /** Receives {@code length} bytes of {@code in} from index {@code from} on. */
    void content(ByteBuf in, int from, int length);
  }

  /** The body continues after the scanned bytes. */
  public static final int MORE = -1;

  /** The bytes are not a chunked body. */
  public static final int MALFORMED = -2;

  private static final int MAX_SIZE_DIGITS = 15;
  private static final int MAX_EXTENSION = 4096;
  private static final int MAX_TRAILERS = 65_536;
  private static final long MAX_SIZE = (1L << (4 * MAX_SIZE_DIGITS)) - 1;

  /** Maximum number of missing bytes of a cut chunk that {@link #complete} fills. */
  private static final int MOST_FILL = 65_536;

  private enum State {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER_START,
    TRAILER_NAME,
    TRAILER,
    TRAILER_LF,
    END_LF,
    END
  }

  private final long maxSize;
  private final int maxTrailers;
  private final @Nullable ChunkExtensions strict;
  private @Nullable TrailerName name;
  private State state = State.SIZE;
  private long size;
  private int digits;
  private int extension;
  private int trailers;
  private int border = -1;
  private final EventTail tail = new EventTail();

  /** The framing of an answer. */
  public ChunkFraming() {
    this(MAX_SIZE, MAX_TRAILERS, null);
  }

  private ChunkFraming(long maxSize, int maxTrailers, @Nullable ChunkExtensions strict) {
    this.maxSize = maxSize;
    this.maxTrailers = maxTrailers;
    this.strict = strict;
  }

  /**
   * The framing of a request. It is stricter where servers disagree.
   *
   * @param maxTrailers maximum total size of the trailers in bytes
   */
  static ChunkFraming ofRequest(int maxTrailers) {
    return new ChunkFraming(Integer.MAX_VALUE, maxTrailers, new ChunkExtensions());
  }

  /**
   * Scans {@code in} from {@code from} to before {@code to}. Does not move its indices.
   *
   * @param data buffer to which the contents of chunks are appended; null for none
   * @return the index after the body's last byte, {@link #MORE}, or {@link #MALFORMED}
   */
  public int scan(ByteBuf in, int from, int to, @Nullable ByteBuf data) {
    return read(in, from, to, data == null ? null : data::writeBytes);
  }

  /**
   * Scans {@code in} from {@code from} to before {@code to}. Does not move its indices.
   *
   * @param contents receiver of the contents of chunks; null for none
   * @return the index after the body's last byte, {@link #MORE}, or {@link #MALFORMED}
   */
  public int read(ByteBuf in, int from, int to, @Nullable Contents contents) {
    border = state == State.SIZE && digits == 0 ? from : -1;
    int i = from;
    while (i < to) {
      if (state == State.DATA) {
        int run = (int) Math.min(size, to - i);
        consume(in, i, run, contents);
        i += run;
      } else if (!step(in.getByte(i++), i)) {
        return MALFORMED;
      } else if (state == State.END) {
        return i;
      }
    }
    return MORE;
  }

  /** The last index of the latest scan between two chunks; -1 if there was none. */
  public int border() {
    return border;
  }

  /** True if the scanned bytes end between two chunks. */
  public boolean atBorder() {
    return state == State.SIZE && digits == 0;
  }

  /**
   * Completes the chunk at the end of a cut body. Writes the rest of its framing, with line feeds
   * as its missing contents.
   *
   * @return true if the body is between two chunks; if not, nothing was written
   */
  public boolean complete(ByteBuf out) {
    boolean begun = state != State.SIZE || digits > 0;
    boolean last = begun && size == 0 && state.compareTo(State.DATA) < 0;
    if (last || size > MOST_FILL || state.compareTo(State.DATA_LF) > 0) {
      return false;
    }
    if (state.compareTo(State.DATA) < 0 && begun) {
      out.writeBytes(state == State.SIZE_LF ? LINE_FEED : LINE_END);
    }
    for (long i = 0; i < size; i++) {
      out.writeByte('\n');
    }
    if (begun) {
      out.writeBytes(state == State.DATA_LF ? LINE_FEED : LINE_END);
    }
    size = 0;
    digits = 0;
    state = State.SIZE;
    return true;
  }

  private static final byte[] LINE_END = {'\r', '\n'};
  private static final byte[] LINE_FEED = {'\n'};

  /** The end of the contents. */
  public EventTail tail() {
    return tail;
  }

  private void consume(ByteBuf in, int from, int run, @Nullable Contents contents) {
    if (contents != null) {
      contents.content(in, from, run);
    }
    tail.append(in, from, run);
    size -= run;
    if (size == 0) {
      state = State.DATA_CR;
    }
  }

  /** Reads one byte that is not data; {@code next} is the index after it. */
  private boolean step(byte b, int next) {
    return switch (state) {
      case SIZE -> size(b);
      case EXTENSION -> extension(b);
      case SIZE_LF -> b == '\n' && become(size == 0 ? State.TRAILER_START : State.DATA);
      case DATA_CR -> b == '\r' && become(State.DATA_LF);
      case DATA_LF -> b == '\n' && nextChunk(next);
      case TRAILER_START -> b == '\r' ? become(State.END_LF) : trailerStart(b);
      case TRAILER_NAME -> b == ':' ? trailerNamed(b) : trailerName(b);
      case TRAILER -> trailer(b);
      case TRAILER_LF -> b == '\n' && become(State.TRAILER_START);
      case END_LF -> b == '\n' && become(State.END);
      case DATA, END -> false;
    };
  }

  private boolean become(State next) {
    state = next;
    return true;
  }

  private boolean nextChunk(int next) {
    border = next;
    size = 0;
    digits = 0;
    extension = 0;
    return become(State.SIZE);
  }

  private boolean size(byte b) {
    int digit = Bytes.hex(b);
    if (digit >= 0) {
      size = size * 16 + digit;
      return ++digits <= MAX_SIZE_DIGITS && size <= maxSize;
    }
    if (digits == 0) {
      return false;
    }
    if (b == '\r') {
      return become(State.SIZE_LF);
    }
    if (strict != null) {
      strict.begin();
      return b == ';' && become(State.EXTENSION);
    }
    return (b == ';' || b == ' ' || b == '\t') && become(State.EXTENSION);
  }

  private boolean extension(byte b) {
    if (b == '\r') {
      return become(State.SIZE_LF) && (strict == null || strict.complete());
    }
    if (strict != null && !strict.next(b)) {
      return false;
    }
    return (b >= ' ' || b < 0 || b == '\t') && ++extension <= MAX_EXTENSION;
  }

  /** Begins a trailer. The name of a client's trailer is checked. */
  private boolean trailerStart(byte b) {
    name = strict == null ? null : new TrailerName();
    return trailerName(b);
  }

  private boolean trailerName(byte b) {
    if (name != null) {
      name.add(b);
    }
    return Bytes.token(b) && become(State.TRAILER_NAME) && ++trailers <= maxTrailers;
  }

  private boolean trailerNamed(byte colon) {
    return (name == null || name.allowed()) && trailer(colon);
  }

  private boolean trailer(byte b) {
    if (b == '\r') {
      return become(State.TRAILER_LF);
    }
    state = State.TRAILER;
    boolean text = b >= ' ' || b < 0 || b == '\t';
    return text && (b != 0x7F || strict == null) && ++trailers <= maxTrailers;
  }
}
