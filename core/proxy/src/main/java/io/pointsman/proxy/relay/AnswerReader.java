package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.event.EngineEnd;
import io.pointsman.request.usage.AnswerScanner;
import io.pointsman.request.usage.AnswerScanner.Form;
import io.pointsman.request.usage.WebSocketUsage;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reader of an answer as it passes: token counts, signs that its engine aborted the request, and
 * errors that report the end of the engine. It leaves the bytes unchanged and removes the transfer
 * coding for itself. Belongs to the event loop.
 */
public final class AnswerReader implements ChunkFraming.Contents {
  private static final int OK = 200;

  private final BodyFraming framing;
  private final AnswerScanner scanner;
  private final IntFunction<byte[]> scratch;
  private int abortedAt;

  /** Null if the events are not counted. */
  private final @Nullable EventCounter events;

  /** Null if the answer is not a WebSocket. */
  private final @Nullable WebSocketUsage socket;

  private AnswerReader(
      ResponseHead head,
      String method,
      AnswerScanner scanner,
      boolean counts,
      IntFunction<byte[]> scratch) {
    this.scanner = scanner;
    this.scratch = scratch;
    events = counts && head.eventStream() ? new EventCounter() : null;
    socket = head.switchesToWebSocket() ? new WebSocketUsage() : null;
    framing = new BodyFraming(head, method);
  }

  /**
   * Returns null if there is nothing to read: an error, a compressed body, or an answer without
   * signs of an abort and without an observer. A WebSocket has counts only.
   *
   * @param head head of the answer, valid during this call
   * @param method method of the request
   * @param observed true if the token counts are used
   * @param charged true if events count as tokens in a stream without counts
   * @param scratch memory of at least the given size, valid until its next use
   */
  public static @Nullable AnswerReader of(
      Endpoint endpoint,
      ResponseHead head,
      String method,
      boolean observed,
      boolean charged,
      IntFunction<byte[]> scratch) {
    if (head.switchesToWebSocket()) {
      AnswerScanner unused = new AnswerScanner(Form.COUNTS);
      return observed ? new AnswerReader(head, method, unused, false, scratch) : null;
    }
    // In other text the model's words could look like signs.
    Form form = head.json() || head.eventStream() ? form(endpoint) : Form.COUNTS;
    boolean wanted = observed || form != Form.COUNTS;
    return wanted && head.status() == OK && !head.encoded()
        ? new AnswerReader(head, method, new AnswerScanner(form), charged, scratch)
        : null;
  }

  /** True if the tokens of an answer of this route are its text. */
  public static boolean generates(Endpoint endpoint) {
    return endpoint != Endpoint.TRANSPARENT && form(endpoint) != Form.COUNTS;
  }

  /** True if an answer of this route in one piece says whether its engine aborted the request. */
  public static boolean showsAborts(Endpoint endpoint, ResponseHead head) {
    return head.status() == OK && head.json() && !head.encoded() && form(endpoint) != Form.COUNTS;
  }

  private static Form form(Endpoint endpoint) {
    return switch (endpoint) {
      case CHAT_COMPLETIONS, COMPLETIONS, TOKEN_GENERATE -> Form.CHOICES;
      case MESSAGES -> Form.MESSAGE;
      case RESPONSES -> Form.RESPONSE;
      case GENERATE, TRANSPARENT -> Form.ANY;
      case RESPONSE_GET,
          RESPONSE_DELETE,
          RESPONSE_CANCEL,
          RESPONSE_INPUT_ITEMS,
          EMBEDDINGS,
          RERANK,
          SCORE,
          POOLING,
          CLASSIFY,
          TOKENIZE,
          DETOKENIZE,
          MESSAGES_COUNT_TOKENS,
          AUDIO_TRANSCRIPTIONS,
          AUDIO_TRANSLATIONS,
          AUDIO_SPEECH,
          IMAGES_GENERATIONS,
          IMAGES_EDITS,
          IMAGES_VARIATIONS,
          REALTIME ->
          Form.COUNTS;
    };
  }

  /** Reads {@code in}, the next bytes of the body, without changing it. */
  public void read(ByteBuf in) {
    int from = in.readerIndex();
    int to = in.writerIndex();
    if (socket != null) {
      content(in, from, to - from);
    } else if (framing.kind() == Kind.CHUNKED) {
      framing.chunks().read(in, from, to, this);
    } else {
      int end = framing.scan(in, from, to);
      content(in, from, (end < 0 ? to : end) - from);
    }
  }

  @Override
  public void content(ByteBuf in, int from, int length) {
    byte[] bytes;
    int start;
    if (in.hasArray()) {
      bytes = in.array();
      start = in.arrayOffset() + from;
    } else {
      bytes = scratch.apply(length);
      start = 0;
      in.getBytes(from, bytes, 0, length);
    }
    if (socket != null) {
      socket.read(bytes, start, start + length);
      return;
    }
    boolean found = scanner.aborted();
    scanner.read(bytes, start, start + length);
    if (events != null) {
      events.read(bytes, start, start + length);
    }
    if (!found) {
      abortedAt = from + scanner.abortedAt() - start;
    }
  }

  /** True if the answer has said why its output ended: at the end of a message or a response. */
  public boolean saidItsEnd() {
    return scanner.saidItsEnd();
  }

  /** Reports the end of an answer in one piece. */
  public void ended() {
    scanner.ended();
  }

  /**
   * True if the engine aborted the request.
   *
   * @param shuttingDown true if the engine is known to shut down. A response that ends without a
   *     reason then counts as aborted
   */
  public boolean aborted(boolean shuttingDown) {
    return scanner.aborted() || (shuttingDown && scanner.unexplained());
  }

  /** The end of the engine that an error in the answer reports. */
  public EngineEnd engineEnd() {
    return scanner.engineEnd();
  }

  /**
   * Start of the aborted event in {@code in}, the bytes that were read last: the index after the
   * event before it, and after the chunk of that event. The first index if the event began earlier.
   */
  public int abortedEvent(ByteBuf in) {
    int from = in.readerIndex();
    for (int at = Math.min(abortedAt, in.writerIndex() - 1); at > from; at--) {
      if (in.getByte(at) == '\n' && in.getByte(at - 1) == '\n') {
        return at + 1 + lineEnd(in, at + 1);
      }
    }
    return from;
  }

  /** Length of the end of a chunk at this index; 0 if there is none. */
  private int lineEnd(ByteBuf in, int at) {
    boolean ends =
        framing.kind() == Kind.CHUNKED
            && at + 1 < in.writerIndex()
            && in.getByte(at) == '\r'
            && in.getByte(at + 1) == '\n';
    return ends ? 2 : 0;
  }

  /** The number of events so far; -1 if they are not counted. */
  public long events() {
    return events == null ? -1 : events.count();
  }

  /** The token counts so far. */
  public Usage usage() {
    return socket == null ? scanner.usage() : socket.usage();
  }
}
