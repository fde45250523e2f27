package io.pointsman.plane.haproxy;

import io.pointsman.proxy.local.LocalRequest;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ProtocolException;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One SPOE connection from HAProxy. HAProxy pipelines messages: it sends the next before the
 * responses to earlier ones. Frames are limited in size and never fragmented. One thread reads;
 * slow responses are written by other threads.
 */
final class SpoeConnection {
  private static final Logger log = LoggerFactory.getLogger(SpoeConnection.class);

  /** Maximum frame size in bytes; HAProxy's maximum is its buffer size. */
  static final int MAX_FRAME = 1 << 20;

  /** Maximum time in ms for the rest of a frame after its first byte. */
  private static final int FRAME_LIMIT_MILLIS = 30_000;

  private static final int READ_AHEAD = 8 << 10;

  /** Maximum buffer size kept for the next frame. */
  private static final int KEPT_BUFFER = 64 << 10;

  private static final int SMALLEST_FRAME = 7;
  private static final int SMALLEST_MAX_FRAME = 256;
  private static final int FLUSH_FROM = 32 << 10;

  private static final int HELLO = 1;
  private static final int DISCONNECT = 2;
  private static final int NOTIFY = 3;
  private static final int AGENT_HELLO = 101;
  private static final int AGENT_DISCONNECT = 102;
  private static final int ACK = 103;

  private static final int NORMAL = 0;
  private static final int TIMED_OUT = 2;
  private static final int TOO_BIG = 3;
  private static final int INVALID = 4;
  private static final int NO_VERSION = 5;
  private static final int NO_FRAME_SIZE = 6;
  private static final int BAD_VERSION = 8;

  private final Socket socket;
  private final SpoeAnswers answers;
  private final SpoeLimits limits;
  private final DataInputStream in;
  private final OutputStream out;

  /** Guarded by itself. */
  private final SpoeWriter writer = new SpoeWriter();

  /** Messages without an answer yet. */
  private final AtomicInteger unanswered = new AtomicInteger();

  /** True after the last frame to HAProxy. Its later messages get no answer. */
  private final AtomicBoolean ended = new AtomicBoolean();

  private volatile boolean retires;
  private byte[] frame = new byte[READ_AHEAD];
  private int most = MAX_FRAME;

  /** A protocol error with its status code. */
  private static final class Broken extends ProtocolException {
    private static final long serialVersionUID = 1L;
    private final int status;

    Broken(int status, String message) {
      super(message);
      this.status = status;
    }
  }

  SpoeConnection(Socket socket, SpoeAnswers answers, SpoeLimits limits) throws IOException {
    this.socket = socket;
    this.answers = answers;
    this.limits = limits;
    in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), READ_AHEAD));
    out = socket.getOutputStream();
  }

  /** Serves until HAProxy disconnects, exceeds a timeout, or violates the protocol. */
  void run() throws IOException {
    try {
      boolean onlyCheck = greet(next(limits.hello()));
      while (!onlyCheck && served(next(limits.idle()))) {
        // Until HAProxy's DISCONNECT.
      }
    } catch (EOFException e) {
      // HAProxy closes unused connections.
    } catch (SocketTimeoutException e) {
      disconnect(TIMED_OUT, "idle for too long");
    } catch (ProtocolException e) {
      int status = e instanceof Broken broken ? broken.status : INVALID;
      disconnect(status, String.valueOf(e.getMessage()));
      throw e;
    }
  }

  /**
   * The next frame.
   *
   * @param wait maximum wait for its first byte
   */
  private SpoeReader next(Duration wait) throws IOException {
    if (frame.length > KEPT_BUFFER) {
      frame = new byte[READ_AHEAD];
    }
    socket.setSoTimeout(Math.toIntExact(wait.toMillis()));
    int first = in.readUnsignedByte();
    socket.setSoTimeout(FRAME_LIMIT_MILLIS);
    int length = (first << 24) | (in.readUnsignedByte() << 16) | in.readUnsignedShort();
    if (length < SMALLEST_FRAME || length > most) {
      throw new Broken(
          TOO_BIG,
          "frame: " + length + " bytes (expected: " + SMALLEST_FRAME + " to " + most + ")");
    }
    if (length > frame.length) {
      frame = new byte[Math.max(length, Math.min(2 * frame.length, KEPT_BUFFER))];
    }
    in.readFully(frame, 0, length);
    return new SpoeReader(frame, 0, length);
  }

  /**
   * Answers HAProxy's HELLO.
   *
   * @return true if HAProxy only performs a health check
   */
  private boolean greet(SpoeReader hello) throws IOException {
    int type = hello.octet();
    hello.word();
    hello.number();
    hello.number();
    if (type != HELLO) {
      throw new Broken(INVALID, "frame: of type " + type + " (expected: HAPROXY-HELLO)");
    }
    Map<String, Object> offered = new HashMap<>();
    while (hello.hasMore()) {
      String name = hello.text();
      Object value = hello.value();
      if (value != null) {
        offered.put(name, value);
      }
    }
    if (!(offered.get("supported-versions") instanceof String versions)) {
      throw new Broken(NO_VERSION, "supported-versions: missing");
    }
    if (Arrays.stream(versions.split(",", -1)).noneMatch(each -> each.strip().startsWith("2."))) {
      throw new Broken(BAD_VERSION, "supported-versions: " + versions + " (expected: 2.0)");
    }
    if (!(offered.get("max-frame-size") instanceof Long size) || size < SMALLEST_MAX_FRAME) {
      throw new Broken(NO_FRAME_SIZE, "max-frame-size: missing or too small");
    }
    most = (int) Math.min(size, MAX_FRAME);
    synchronized (writer) {
      writer.begin(AGENT_HELLO, 0, 0);
      writer.entry("version", "2.0").entry("max-frame-size", most);
      writer.entry("capabilities", "pipelining").end();
      writer.flushTo(out);
    }
    return Boolean.TRUE.equals(offered.get("healthcheck"));
  }

  /**
   * Handles one frame.
   *
   * @return false after a DISCONNECT
   */
  private boolean served(SpoeReader reader) throws IOException {
    int type = reader.octet();
    int flags = reader.word();
    long stream = reader.number();
    long id = reader.number();
    if (ended.get()) {
      return type != DISCONNECT;
    }
    if (type == DISCONNECT) {
      disconnect(NORMAL, "goodbye");
      return false;
    }
    if (type != NOTIFY || (flags & 1) == 0) {
      throw new Broken(
          INVALID, "frame: of type " + type + ", flags " + flags + " (expected: a whole NOTIFY)");
    }
    LocalRequest question = SpoeAnswers.question(reader);
    unanswered.incrementAndGet();
    if (answers.atOnce(question)) {
      synchronized (writer) {
        acknowledge(stream, id, question, writer);
      }
      answered();
    } else {
      Thread.ofVirtual().name("spoe-answer").start(() -> later(stream, id, question));
    }
    boolean lastSoFar = in.available() == 0;
    synchronized (writer) {
      if (writer.size() > 0 && (lastSoFar || writer.size() >= FLUSH_FROM)) {
        writer.flushTo(out);
      }
    }
    return true;
  }

  private void later(long stream, long id, LocalRequest question) {
    SpoeWriter own = new SpoeWriter();
    acknowledge(stream, id, question, own);
    try {
      synchronized (writer) {
        own.flushTo(out);
      }
    } catch (IOException e) {
      // HAProxy has disconnected; the reading thread detects it too.
    } finally {
      answered();
    }
  }

  private void answered() {
    if (unanswered.decrementAndGet() == 0 && retires) {
      end();
    }
  }

  /** Ends the connection after the answers in progress. */
  void retire() {
    retires = true;
    if (unanswered.get() == 0) {
      end();
    }
  }

  /** Sends the last frame. HAProxy then closes the connection. */
  private void end() {
    if (ended.compareAndSet(false, true)) {
      try {
        disconnect(NORMAL, "the router has another SPOE address");
        socket.shutdownOutput();
      } catch (IOException e) {
        log.debug("HAProxy has disconnected before", e);
      }
    }
  }

  private void acknowledge(long stream, long id, LocalRequest question, SpoeWriter into) {
    into.begin(ACK, stream, id);
    answers.answer(question, into);
    if (into.length() > most) {
      // HAProxy would close the connection and lose all other messages on it.
      answers.tooLong(into.length());
      into.drop();
      into.begin(ACK, stream, id);
    }
    into.end();
  }

  private void disconnect(int status, String message) throws IOException {
    synchronized (writer) {
      writer.begin(AGENT_DISCONNECT, 0, 0);
      writer.entry("status-code", status).entry("message", message).end();
      writer.flushTo(out);
    }
  }
}
