package io.pointsman.proxy.exchange;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.settings.BodyDecoding;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.coding.BodyCoding;
import io.pointsman.request.coding.ContentCoding;
import io.pointsman.request.coding.Decoding;
import org.jspecify.annotations.Nullable;

/**
 * The compressed body of a request: its decoding before it is read, and the errors for the client.
 * On unknown paths, bodies that cannot be decoded pass as they came.
 *
 * @param coding coding of the body; {@link BodyCoding#NONE} if the body is not decoded
 * @param known true if the router knows the path
 */
record CodedBody(BodyCoding coding, boolean known, LimitSettings limits) {

  static CodedBody of(RequestHead head, Endpoint endpoint, LimitSettings limits) {
    boolean reads =
        head.hasBody()
            && endpoint.readsBody()
            && limits.decoding() != BodyDecoding.OFF
            && limits.maxBufferedBody() > 0;
    BodyCoding coding = reads ? BodyCoding.of(head) : BodyCoding.NONE;
    return new CodedBody(coding, endpoint != Endpoint.TRANSPARENT, limits);
  }

  /** True if the body must be decoded before it is read. */
  boolean decodes() {
    return coding.known() != null;
  }

  /** The error for a coding that the router cannot decode; null if there is none. */
  @Nullable Reply refusal() {
    if (!known || decodes() || !coding.present()) {
      return null;
    }
    ProxyError error = ProxyError.ENCODED_BODY;
    return Reply.of(error, error.message()).with("accept-encoding", ContentCoding.NAMES);
  }

  /** Starts to decode a complete body. */
  void decode(KeptBody body, LoopState state, BodyDecoder.Receiver receiver) {
    ContentCoding by = requireNonNull(coding.known(), "coding");
    state.server().decoder().decode(body, by, most(), state.allocator(), state.loop(), receiver);
  }

  /**
   * True if the worker gets the body as it came. A handler may edit the body for each of its
   * workers, so these get it decoded.
   */
  boolean forwards(RequestHandlers handlers) {
    return limits.decoding() == BodyDecoding.FORWARD && !handlers.traits().editsBodies();
  }

  private long most() {
    return Math.min(limits.maxBodyBytes(), limits.maxBufferedBody());
  }

  /** True if the client gets an error after this result. */
  boolean refuses(Decoding.Result result) {
    return known && result != Decoding.Result.COMPLETE;
  }

  /** The error after a failed decoding. */
  static ProxyError error(Decoding.Result result) {
    return switch (result) {
      case TOO_LARGE -> ProxyError.BODY_TOO_LARGE;
      case REFUSED -> ProxyError.BUFFERS_FULL;
      case MALFORMED, COMPLETE -> ProxyError.INVALID_BODY;
    };
  }

  /** The answer after a failed decoding. */
  Reply reply(Decoding.Result result) {
    ProxyError error = error(result);
    return switch (result) {
      case TOO_LARGE ->
          Reply.of(
              error,
              "request body: too large (expected: at most "
                  + most()
                  + " bytes after its content-encoding is removed)");
      case REFUSED -> Rejections.reply(error);
      case MALFORMED, COMPLETE ->
          Reply.of(
              error,
              "request body: malformed (expected: complete "
                  + coding.named()
                  + ", as content-encoding says)");
    };
  }
}
