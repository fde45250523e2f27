package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.relay.AnswerReader;
import io.pointsman.proxy.relay.AnswerSignals;
import io.pointsman.proxy.relay.FirstEvents;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.request.event.EngineEnd;
import io.pointsman.request.event.EventKind;
import org.jspecify.annotations.Nullable;

/**
 * A worker's answer on its way to the client: its relay, the readers that follow its body, and the
 * reports to lease and request. It knows if output has begun, and if the client has a part. It
 * decides nothing about the attempt. Belongs to the event loop.
 */
final class RelayedAnswer {
  /** Minimum interval between two reports of the worker's progress. */
  private static final long PROGRESS_NANOS = 50_000_000L;

  private final ExchangeParts parts;
  private final Lease lease;
  private final UpstreamRequest request;
  private final boolean holdsHead;
  private final Relay relay;
  private final FirstEvents first;

  /** Null if the body was read before, or has no signs of interest. */
  private final @Nullable AnswerReader following;

  /** Null if nobody observes the lease, or the answer is no stream. */
  private @Nullable AnswerSignals signals;

  /** True while the head of a stream waits for the first byte of the body. */
  private boolean headWaits;

  private boolean reached;
  private long progressAt;

  /** Time of the last comment to the client; before the first comment, the start of the answer. */
  private long commentedAt;

  /**
   * @param first reader of the body's start
   * @param following reader of the rest of the body; null for none
   * @param now time of the head
   */
  RelayedAnswer(
      ExchangeParts parts,
      Lease lease,
      UpstreamRequest request,
      Relay relay,
      FirstEvents first,
      @Nullable AnswerReader following,
      long now) {
    this.parts = parts;
    this.lease = lease;
    this.request = request;
    this.relay = relay;
    this.first = first;
    this.following = following;
    holdsHead = request.rules().holdsHead();
    progressAt = now;
    commentedAt = now;
  }

  /** Reports the body to the lease through {@code to}; null for no reports. */
  void signals(@Nullable AnswerSignals to) {
    signals = to;
  }

  /** Lets the head wait for the first byte of the body. */
  void headWaits() {
    headWaits = true;
  }

  Relay relay() {
    return relay;
  }

  /** True if the client has no byte of the answer. */
  boolean unsent() {
    return relay.bytesOut() == 0;
  }

  /** True if the head must not go to the client yet. */
  boolean headBuffered() {
    return holdsHead && unsent();
  }

  /** True if the engine has computed a part of the received body. */
  boolean begun() {
    return first.kind() != EventKind.TAKEN;
  }

  /** True if the body began with an error in place of output. */
  boolean failedInStream() {
    return first.kind() == EventKind.FAILED;
  }

  /** Reads {@code in}, the next bytes of the body, which remain unchanged. */
  EventKind follow(ByteBuf in) {
    EventKind kind = first.read(in);
    if (following != null) {
      following.read(in);
    }
    return kind;
  }

  /**
   * True if the bytes read so far say that the engine aborted the request.
   *
   * @param shuttingDown true if the engine is known to shut down
   */
  boolean aborted(boolean shuttingDown) {
    return following != null && following.aborted(shuttingDown);
  }

  /** True if the stream has its last event, although its framing has no end. */
  boolean hasLastEvent() {
    if (!relay.events() || keeps()) {
      return false;
    }
    return switch (parts.endpoint()) {
      case CHAT_COMPLETIONS, COMPLETIONS -> relay.tail().endsList();
      case MESSAGES -> saidItsEnd() && relay.tail().endsTextObject();
      case RESPONSES -> saidItsEnd();
      default -> false;
    };
  }

  private boolean saidItsEnd() {
    return following != null && following.saidItsEnd();
  }

  /** The end of the engine that an error in the answer reports. */
  EngineEnd engineEnd() {
    return following == null ? EngineEnd.NONE : following.engineEnd();
  }

  /** Start of the aborted event in {@code in}, the bytes that were read last. */
  int abortedEvent(ByteBuf in) {
    return following == null ? in.readerIndex() : following.abortedEvent(in);
  }

  /**
   * Reports the bytes that were read last to the lease.
   *
   * @param starts true if they are the first output
   */
  void report(ByteBuf in, EventKind kind, boolean starts, long now) {
    if (signals != null) {
      signals.bodyArrived(in, kind.computed());
    }
    if (starts || now - progressAt > PROGRESS_NANOS) {
      progressAt = now;
      if (begun()) {
        lease.progressed();
      } else {
        lease.accepted();
      }
    }
    if (kind.computed()) {
      lease.cleared();
    }
  }

  /** Buffers a part before the first output, as {@link FirstEvents#keep}. */
  boolean keep(ByteBuf in) {
    return first.keep(in);
  }

  /** True if bytes before the first output are buffered. */
  boolean keeps() {
    return first.keeps();
  }

  /** Relays the buffered bytes and {@code in}, with its ownership. */
  Relay.Progress pass(ByteBuf in, EventKind kind, long now) {
    ByteBuf all = first.join(in);
    parts.answers().bodyArrived(all, now, kind.computed());
    Relay.Progress progress = relay.relay(all);
    reportReached();
    return progress;
  }

  /** Relays the buffered bytes. */
  Relay.Progress passKept(long now) {
    return pass(Unpooled.EMPTY_BUFFER, first.kind(), now);
  }

  /** Relays the start of {@code in} up to an index. Its ownership passes to this method. */
  void passUpTo(int index, ByteBuf in, EventKind kind, long now) {
    parts.answers().bodyArrived(in, now, kind.computed());
    relay.relay(in.writerIndex(index));
  }

  /** Sends the head, if it was not sent and does not wait. */
  void offerHead() {
    if (!headBuffered() && !(headWaits && unsent())) {
      sendHead();
    }
  }

  /** Sends the head, if it was not sent. */
  void sendHead() {
    relay.sendHead();
    reportReached();
  }

  /** Nanoseconds since the last comment. */
  long uncommented(long now) {
    return now - commentedAt;
  }

  /** Sends a comment if the stream is between two events. */
  void comment(long now) {
    commentedAt = now;
    relay.keepAlive();
    reportReached();
  }

  private void reportReached() {
    if (!reached && relay.bytesOut() > 0) {
      reached = true;
      if (parts.body().complete()) {
        // The request is not sent again.
        parts.body().release();
      }
      request.reached(UpstreamRequest.Step.REACHED);
    }
  }

  /** Releases the buffered bytes of the body's start. */
  void releaseKept() {
    first.release();
  }

  /** Releases the answer, because the client gets none of it. */
  void discard() {
    relay.release();
  }
}
