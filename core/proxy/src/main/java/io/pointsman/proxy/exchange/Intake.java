package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.admission.Admission;
import io.pointsman.proxy.admission.QueuedRequest;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.identity.ModelRights;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.RequestEvent.LimitReached;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import io.pointsman.request.coding.Decoding;
import io.pointsman.request.handover.HandoverFields;
import io.pointsman.request.handover.HandoverScan;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.Splice;
import io.pointsman.request.strict.RerankForm;
import io.pointsman.request.strict.StrictBody;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The reading of a received request, with the decoding of a compressed body, and the checks before
 * its admission: its model, its form, its past failures, its priority, and the limits of its
 * client. Belongs to the client's event loop.
 */
final class Intake implements BodyDecoder.Receiver {
  /** Receiver of the results, on the event loop. */
  interface Receiver {
    /** Takes a result. Another one follows {@link Later} and {@link More}. */
    void read(Result result);

    /** Reports an unexpected exception. */
    void failed(Throwable defect);
  }

  /** Result of a read. */
  sealed interface Result {}

  /** The body is being decoded. */
  record Later() implements Result {}

  /** More of the body is needed; {@link #begin} is then called again. */
  record More() implements Result {}

  /** The client gets an error. */
  record Refused(ProxyError error, Reply reply) implements Result {
    private Refused(ProxyError error) {
      this(error, Rejections.reply(error));
    }

    private Refused(ProxyError error, String detail) {
      this(error, Reply.of(error, detail));
    }
  }

  /**
   * The request can enter a queue.
   *
   * @param stored the stored response that it uses; null if none
   */
  record Accepted(
      RequestFacts facts, @Nullable StoredResponse stored, Admission queue, QueuedRequest request)
      implements Result {}

  private static final String UNCHECKED =
      "model: cannot be checked for this API key, because the body is too long";

  private static final String UNREAD_RESPONSE =
      "request body: too long to find previous_response_id, which the router checks (expected: at"
          + " most 8 times limits.max-buffered-body)";

  private static final String UNREADABLE_RESPONSE =
      "request body: not readable for the router (expected: a JSON object without a coding, because"
          + " the router checks previous_response_id)";

  /** Kinds of bodies that engines may read as JSON, and the router does not. */
  private static final Set<BodyVerdict.Kind> UNREADABLE =
      EnumSet.of(BodyVerdict.Kind.OPAQUE, BodyVerdict.Kind.FORM);

  private static final Later LATER = new Later();
  private static final More MORE = new More();

  private static final String HANDOVER_REFUSED =
      "request body: has fields of hand-overs between engines, for example kv_transfer_params,"
          + " which cannot be removed (expected: none, or a JSON object in UTF-8 of at most"
          + " limits.max-buffered-body bytes and 4096 members)";

  private static final String NOT_UTF8 =
      "request body: JSON in UTF-16 or UTF-32 (expected: JSON in UTF-8)";

  private static final List<BodyEdit> WITHOUT_HANDOVERS =
      HandoverFields.paths().stream().<BodyEdit>map(BodyEdit.Remove::new).toList();

  private final LoopState state;
  private final ServerContext server;
  private final Endpoint endpoint;
  private final RequestBody body;
  private final ExchangeParts parts;
  private final CodedBody coded;
  private final Receiver receiver;
  private final RequestQuota quota = new RequestQuota();
  private boolean ended;

  /** The head of the decoded body; the client's head for a body without a coding. */
  private RequestHead head;

  /** Null before the first read. */
  private @Nullable RequestFacts facts;

  /** Search in the parts of the body that follow; null if they need none. */
  private @Nullable HandoverScan rest;

  Intake(ExchangeParts parts, CodedBody coded, Receiver receiver) {
    this.parts = parts;
    this.coded = coded;
    this.receiver = receiver;
    state = parts.state();
    server = parts.server();
    endpoint = parts.endpoint();
    body = parts.body();
    head = parts.head();
  }

  /** The head of the request, without the coding of a body that was decoded. */
  RequestHead head() {
    return head;
  }

  /** True if the client asked for a stream, as far as the request was read. */
  boolean streams() {
    return facts != null && facts.stream();
  }

  /** Estimated tokens of the prompt; 0 before it was read. */
  long promptTokens() {
    return facts == null ? 0 : facts.prefix().tokens();
  }

  /** The request in the limits of its client. */
  RequestQuota quota() {
    return quota;
  }

  /** Records the end of the request. A decoded body that still comes is released. */
  void end() {
    ended = true;
  }

  /** Reads the received part of the request, after its decoding if it is compressed. */
  void begin() {
    KeptBody whole = body.whole();
    if (!coded.decodes() || (body.complete() && whole == null)) {
      receiver.read(read());
    } else if (whole == null) {
      decoded(Decoding.Result.TOO_LARGE, null);
    } else {
      receiver.read(LATER);
      coded.decode(whole, state, this);
    }
  }

  @Override
  public void decoded(Decoding.Result result, @Nullable KeptBody plain) {
    if (ended) {
      if (plain != null) {
        plain.release();
      }
      return;
    }
    try {
      if (plain != null) {
        body.decoded(plain, coded.forwards(parts.handlers()));
        head = parts.head().decoded();
      }
      receiver.read(
          coded.refuses(result)
              ? new Refused(CodedBody.error(result), coded.reply(result))
              : read());
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  @Override
  public void failed(Throwable defect) {
    receiver.failed(defect);
  }

  private Result read() {
    byte[] bytes = buffered();
    RequestFacts read = facts(bytes);
    String asked = read.model();
    boolean named = endpoint.jsonBody() && server.edits().needsModel();
    if (named && read.mayNameFurther() && body.keepsMore()) {
      return MORE;
    }
    String target =
        endpoint == Endpoint.REALTIME ? server.edits().editTarget(read, head.uri()) : null;
    if (target != null) {
      head = head.to(target);
      read = facts(bytes);
    }
    Splice edit = server.edits().edit(read, bytes, body.buffered(), body.complete());
    if (edit != null) {
      body.edit(edit);
      bytes = buffered();
      read = facts(bytes);
    }
    switch (handover(read, bytes)) {
      case NONE -> {}
      case REMOVED -> {
        bytes = buffered();
        read = facts(bytes);
      }
      case REFUSED -> {
        return handoverRefused();
      }
      case NOT_UTF8 -> {
        return new Refused(ProxyError.INVALID_BODY, NOT_UTF8);
      }
    }
    facts = read;
    parts.report().asks(read);
    String owner =
        StoredResponse.concerns(endpoint, read) ? server.owner(head) : ClientOwner.EVERYBODY;
    StoredResponse stored = StoredResponse.of(server.owners(), endpoint, head, read, owner);
    boolean endsOwn = stored != null && stored.endsOwn();
    Result refused = head.identity().restricted() ? ofModel(asked, read, endsOwn) : null;
    if (refused == null) {
      refused = ofOwner(read, stored, owner);
    }
    if (refused == null) {
      refused = ofForm(read, stored, bytes);
    }
    if (refused != null) {
      return refused;
    }
    if (body.complete()) {
      parts.faults().of(head.path().hashCode(), bytes, body.buffered());
    }
    if (parts.faults().refused()) {
      ProxyError error = ProxyError.POISON_REQUEST;
      return new Refused(error, Reply.of(error, error.message()).with("x-should-retry", "false"));
    }
    return ofQueue(read, stored);
  }

  /** Fields of hand-overs in the received part of a body. */
  private enum HandoverCheck {
    NONE,
    REMOVED,
    /** They cannot be removed. */
    REFUSED,
    /** The router cannot read the encoding. */
    NOT_UTF8
  }

  /**
   * Removes a client's fields of hand-overs. A handler that edits bodies removes them itself. If
   * they cannot be removed, the request is refused.
   */
  private HandoverCheck handover(RequestFacts read, byte[] bytes) {
    int length = body.buffered();
    if (server.live().headers().handovers() || !endpoint.readsBody()) {
      return HandoverCheck.NONE;
    }
    if (body.complete() && read.body().kind() == BodyVerdict.Kind.OBJECT) {
      boolean edits = parts.handlers().traits().editsBodies();
      return !read.body().handover() || edits ? HandoverCheck.NONE : removed(bytes, length);
    }
    HandoverScan scan = new HandoverScan();
    if (scan.finds(bytes, 0, length)) {
      return scan.isWideText() ? HandoverCheck.NOT_UTF8 : HandoverCheck.REFUSED;
    }
    rest = body.complete() || scan.ended() ? null : scan;
    return HandoverCheck.NONE;
  }

  private HandoverCheck removed(byte[] bytes, int length) {
    Splice without = state.editor().edit(bytes, 0, length, WITHOUT_HANDOVERS);
    if (without == null) {
      return HandoverCheck.REFUSED;
    }
    if (without.length() == length) {
      return HandoverCheck.NONE;
    }
    body.edit(without);
    return HandoverCheck.REMOVED;
  }

  /**
   * True if a further part of a body, after its first part was accepted, has a client's fields of
   * hand-overs.
   */
  boolean handoverIn(ByteBuf part) {
    HandoverScan scan = rest;
    if (scan == null) {
      return false;
    }
    int length = part.readableBytes();
    byte[] bytes = state.scratch(length);
    part.getBytes(part.readerIndex(), bytes, 0, length);
    boolean found = scan.finds(bytes, 0, length);
    rest = scan.ended() ? null : scan;
    return found;
  }

  /** The answer to a request with a client's fields of hand-overs that cannot be removed. */
  static Refused handoverRefused() {
    return new Refused(ProxyError.INVALID_BODY, HANDOVER_REFUSED);
  }

  private byte[] buffered() {
    byte[] bytes = state.scratch(body.buffered());
    body.copyTo(bytes);
    return bytes;
  }

  private RequestFacts facts(byte[] bytes) {
    RequestHeaders headers = head.identity().restricted() ? RequestReader.withoutModel(head) : head;
    return state
        .reader()
        .read(endpoint, headers, bytes, 0, body.buffered(), !body.complete())
        .at(head.uri());
  }

  /**
   * Checks a request for a model that the client may not use. The engine takes the last model that
   * a body names, so all of it must be read.
   *
   * @param asked the model by the client's name, which may be an alias
   * @return null if the client may use it
   */
  private @Nullable Result ofModel(@Nullable String asked, RequestFacts read, boolean endsOwn) {
    if (!body.complete() && head.hasBody()) {
      return body.keepsMore() ? MORE : new Refused(ProxyError.MODEL_NOT_PERMITTED, UNCHECKED);
    }
    return ModelRights.permits(head.identity(), head.method(), head, read, asked, endsOwn)
        ? null
        : new Refused(ProxyError.MODEL_NOT_PERMITTED);
  }

  /**
   * Checks that a client uses no stored response of another one, if some clients have names. All of
   * the body must be read for this.
   *
   * @param owner the client as an owner of responses
   * @return null if it uses none
   */
  private @Nullable Result ofOwner(
      RequestFacts read, @Nullable StoredResponse stored, String owner) {
    boolean checked = server.distinguishes() || !owner.equals(ClientOwner.EVERYBODY);
    if (checked && endpoint == Endpoint.RESPONSES) {
      if (!body.complete()) {
        return body.keepsMore() ? MORE : new Refused(ProxyError.BODY_TOO_LARGE, UNREAD_RESPONSE);
      }
      if (UNREADABLE.contains(read.body().kind())) {
        return new Refused(ProxyError.INVALID_BODY, UNREADABLE_RESPONSE);
      }
    }
    boolean unknown = !checked || server.live().limits().clients().searchesUnowned();
    return stored == null || stored.permitted(unknown)
        ? null
        : new Refused(ProxyError.UNKNOWN_RESPONSE);
  }

  /** Checks the form of the body; null if it is good. */
  private @Nullable Result ofForm(
      RequestFacts read, @Nullable StoredResponse stored, byte[] bytes) {
    String refusal = read.refusal();
    if (refusal == null && (stored == null || !stored.ownedByAMember(server.engine()))) {
      int cutAfter = body.complete() ? RequestFacts.WHOLE : body.buffered();
      refusal = read.unnamed(server.engine().modelsToName(), cutAfter);
      if (refusal != null && read.mayNameFurther() && body.keepsMore()) {
        return MORE;
      }
    }
    if (refusal != null) {
      return new Refused(ProxyError.INVALID_BODY, refusal);
    }
    return body.complete() && server.live().limits().strictness().bodies() ? ofTypes(bytes) : null;
  }

  /** Checks a body for vllm-router's types; null if it has them. */
  private @Nullable Result ofTypes(byte[] bytes) {
    StrictBody.Problem problem = StrictBody.problem(endpoint, bytes, 0, body.buffered());
    if (problem != null) {
      ProxyError error =
          switch (problem.kind()) {
            case TYPE -> ProxyError.UNPROCESSABLE_BODY;
            case VALUE -> ProxyError.INVALID_BODY;
          };
      return new Refused(error, problem.message());
    }
    if (endpoint == Endpoint.RERANK) {
      parts.answers().rerank(RerankForm.of(bytes, 0, body.buffered()));
    }
    return null;
  }

  private Result ofQueue(RequestFacts read, @Nullable StoredResponse stored) {
    Admission queue = server.live().admissions().of(read.model());
    QueuedRequest request = queued(read, queue);
    if (request == null) {
      return new Refused(ProxyError.INVALID_PRIORITY);
    }
    QuotaAnswer.Refused limited = quota.take(server, head, read);
    if (limited != null) {
      server.listener().on(new LimitReached(head.identity(), limited.limit()));
      return new Refused(Rejections.error(limited), Rejections.reply(limited));
    }
    parts.answers().limits(quota.headers());
    return new Accepted(read, stored, queue, request);
  }

  /** The request for a queue; null if it asks for an unknown priority. */
  private @Nullable QueuedRequest queued(RequestFacts read, Admission queue) {
    if (queue.unlimited()) {
      return QueuedRequest.UNNAMED;
    }
    String header = head.first(Priority.HEADER);
    Priority asked = header == null ? null : Priority.find(header);
    if (header != null && asked == null) {
      return null;
    }
    ClientIdentity client = head.identity();
    Priority priority = Priority.of(asked, client.priority(), queue.settings().maxPriority());
    return new QueuedRequest(client.kind() + " " + client.name(), priority, read.prefix().tokens());
  }
}
