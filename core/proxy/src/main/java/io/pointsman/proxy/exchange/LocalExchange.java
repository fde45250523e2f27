package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.LocalContent;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RouterId;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request that the router answers itself. It receives the complete body, calls the endpoint on a
 * virtual thread and sends the answer. Belongs to the client's event loop.
 */
final class LocalExchange implements ClientStream, ContentSender.Sink {
  private static final Logger LOG = LoggerFactory.getLogger(LocalExchange.class);

  private final ClientConnection client;
  private final RequestHead head;
  private final LocalEndpoint endpoint;
  private final Caller caller;

  /** Null before the endpoint runs. */
  private @Nullable Thread handler;

  private final String requestId;
  private @Nullable KeptBody body;

  /** The body of an endpoint that reads it while it arrives. */
  private @Nullable BodyStream stream;

  private long streamed;

  /** Sends the body of an answer that is not kept in memory. */
  private @Nullable ContentSender sender;

  /** Status of a content that is sent in pieces, and the bytes that were sent with its head. */
  private int contentStatus;

  private long sentBytes;

  private long lastSentAt;
  private long dropped;
  private boolean received;
  private boolean over;
  private final UploadRate upload = new UploadRate();
  private final long startedAt;
  private long lastReadAt;

  LocalExchange(ClientConnection client, RequestHead head, LocalEndpoint endpoint, Caller caller) {
    this.client = client;
    this.head = head;
    this.endpoint = endpoint;
    this.caller = caller;
    requestId = client.state().server().live().requestIds().of(head);
    startedAt = client.state().now();
    lastReadAt = startedAt;
  }

  /** Maximum size of the body in bytes, including a part that is not buffered. */
  private long mostBytes() {
    LimitSettings limits = client.state().server().live().limits();
    if (endpoint.streamsBody()) {
      return Math.min(limits.maxBodyBytes(), endpoint.mostBytes());
    }
    return endpoint.takesHeadOfBody() ? limits.maxBodyBytes() : mostKept();
  }

  private long mostKept() {
    LimitSettings limits = client.state().server().live().limits();
    long most = Math.min(limits.maxBodyBytes(), limits.maxBufferedBody());
    return Math.min(most, endpoint.mostBytes());
  }

  @Override
  public void begin() {
    if (head.contentLength() > mostBytes()) {
      reply(tooLarge(), ProxyError.BODY_TOO_LARGE);
    } else if (endpoint.streamsBody()) {
      BodyStream in = new BodyStream(this::readsAgain);
      stream = in;
      start(request(new byte[0], in));
    }
  }

  /** Reads the client again. Called by the thread of the endpoint. */
  private void readsAgain() {
    try {
      client.state().loop().execute(this::resume);
    } catch (RejectedExecutionException e) {
      LOG.debug("the router stopped during {} {}", head.method(), head.path(), e);
    }
  }

  private void resume() {
    if (client.busyWith(this)) {
      lastReadAt = client.state().now();
      client.setReading(true);
    }
  }

  private Reply tooLarge() {
    return Reply.of(
        ProxyError.BODY_TOO_LARGE,
        "request body: too large (expected: at most " + mostBytes() + " bytes)");
  }

  @Override
  public void content(ByteBuf part) {
    lastReadAt = client.state().now();
    BodyStream in = stream;
    if (in != null) {
      pass(part, in);
      return;
    }
    int length = part.readableBytes();
    int before = buffered();
    int kept = (int) Math.min(length, Math.max(0, mostKept() - before));
    if (over || before + dropped + length > mostBytes()) {
      part.release();
      reply(tooLarge(), ProxyError.BODY_TOO_LARGE);
      return;
    }
    dropped += length - kept;
    if (kept == 0) {
      part.release();
    } else if (!keep(part.writerIndex(part.readerIndex() + kept))) {
      reply(Rejections.reply(ProxyError.BUFFERS_FULL), ProxyError.BUFFERS_FULL);
    }
  }

  private void pass(ByteBuf part, BodyStream in) {
    streamed += part.readableBytes();
    if (over) {
      part.release();
    } else if (streamed > mostBytes()) {
      part.release();
      reply(tooLarge());
    } else if (!in.add(part)) {
      client.setReading(false);
    }
  }

  private int buffered() {
    return body == null ? 0 : body.length();
  }

  private boolean keep(ByteBuf part) {
    KeptBody into = body;
    if (into == null) {
      into = new KeptBody(client.state().allocator(), client.origin().bodies());
      body = into;
    }
    return into.add(part, part.readableBytes() == head.contentLength());
  }

  /** The buffered bytes as an array. Its length counts in the budget of bodies on the heap. */
  private byte[] takeBody() {
    KeptBody kept = body;
    body = null;
    if (kept == null) {
      return new byte[0];
    }
    byte[] bytes = kept.copy();
    kept.release();
    return bytes;
  }

  private BodyBudget handling() {
    return client.state().server().localBodies();
  }

  @Override
  public void contentEnd() {
    received = true;
    if (stream != null) {
      stream.end();
      return;
    }
    if (over) {
      return;
    }
    int length = buffered();
    if (length > 0 && !handling().take(length)) {
      reply(Rejections.reply(ProxyError.BUFFERS_FULL), ProxyError.BUFFERS_FULL);
      return;
    }
    start(request(takeBody(), null));
  }

  private LocalRequest request(byte[] bytes, @Nullable InputStream in) {
    return new LocalRequest(
        head.method(),
        head.path(),
        head.query(),
        headers(),
        bytes,
        dropped > 0,
        requestId,
        caller.kind(),
        caller.name(),
        head.identity(),
        in);
  }

  private void start(LocalRequest request) {
    handler = Thread.ofVirtual().name("pointsman-local").start(() -> handle(request));
  }

  private Map<String, List<String>> headers() {
    Map<String, List<String>> byName = new HashMap<>();
    head.forEach(
        (name, value) ->
            byName
                .computeIfAbsent(name.toString().toLowerCase(Locale.ROOT), _ -> new ArrayList<>())
                .add(value.toString()));
    byName.remove(AdminGuard.KEY_HEADER);
    if (caller.byAuthorization()) {
      byName.remove("authorization");
    }
    return byName;
  }

  /** Runs on a virtual thread. */
  private void handle(LocalRequest request) {
    Reply reply;
    LocalContent content = null;
    try (InputStream _ = request.stream()) {
      LocalResponse response = endpoint.handle(request);
      reply = new Reply(response.status(), response.headers(), response.body());
      content = response.content();
    } catch (Throwable e) { // includes errors, because the client waits for an answer
      boolean left = e instanceof InterruptedException && endpoint.waits();
      if (left || (request.stream() instanceof BodyStream in && in.broken())) {
        LOG.debug(
            "{} {} ended early, request {}",
            LogText.of(head.method()),
            LogText.of(head.path()),
            requestId,
            e);
      } else {
        LOG.error(
            "{} {} failed, request {}",
            LogText.of(head.method()),
            LogText.of(head.path()),
            requestId,
            e);
      }
      reply = Reply.of(ProxyError.INTERNAL, ProxyError.INTERNAL.message());
    } finally {
      handling().giveBack(request.body().length);
    }
    Reply made = reply;
    LocalContent pieces = content;
    try {
      client.state().loop().execute(() -> answer(made, pieces));
    } catch (RejectedExecutionException e) {
      LOG.debug(
          "the router stopped before it answered {} {}",
          LogText.of(head.method()),
          LogText.of(head.path()),
          e);
    }
  }

  /** Another router learns from the answer that its worker is a router, and which one. */
  private Reply identified(Reply reply) {
    String own = client.state().server().router().text();
    return head.viaRouters() == null || own.isEmpty() ? reply : reply.with(RouterId.ROUTER, own);
  }

  private void answer(Reply made, @Nullable LocalContent content) {
    Reply reply = identified(made);
    if (content == null || over) {
      reply(reply);
      return;
    }
    boolean keep = client.replies().mayKeep(head, received);
    ByteBuf first = client.replies().renderHead(head, requestId, reply, keep, content.length());
    contentStatus = reply.status();
    sentBytes = first.readableBytes();
    client.write(first);
    if (head.method().equals("HEAD")) {
      end();
      client.finished(keep);
      return;
    }
    client.flush();
    lastSentAt = client.state().now();
    ContentSender pieces = new ContentSender(content, client, this);
    sender = pieces;
    pieces.start();
  }

  @Override
  public void piece(ByteBuf piece) {
    if (over || sender == null) {
      piece.release();
      return;
    }
    lastSentAt = client.state().now();
    sentBytes += piece.readableBytes();
    client.write(piece);
    client.flush();
    if (client.writable()) {
      sender.taken();
    }
  }

  @Override
  public void ended(boolean complete) {
    if (over) {
      return;
    }
    end();
    if (complete) {
      client.finished(client.replies().mayKeep(head, received));
    } else {
      client.breakOff(false);
    }
  }

  private void reply(Reply reply) {
    reply(reply, null);
  }

  private void reply(ProxyError error) {
    reply(Reply.of(error, error.message()), error);
  }

  private void reply(Reply reply, @Nullable ProxyError error) {
    if (!over) {
      end();
      long nanos = client.state().now() - startedAt;
      client.replies().reply(head, requestId, reply, received, error, nanos);
    }
  }

  @Override
  public void contentBroken() {
    reply(ProxyError.MALFORMED_REQUEST);
  }

  @Override
  public void contentPause() {}

  @Override
  public boolean received() {
    return received;
  }

  @Override
  public void clientGone() {
    end();
    Thread waiting = handler;
    if (waiting != null && endpoint.waits()) {
      waiting.interrupt();
    }
  }

  private void end() {
    if (!over && contentStatus != 0) {
      long nanos = client.state().now() - startedAt;
      client.replies().report(head, requestId, contentStatus, null, nanos, sentBytes);
    }
    over = true;
    if (stream != null) {
      stream.fail("the client's request ended early");
    }
    if (sender != null) {
      sender.stop();
    }
    KeptBody kept = body;
    body = null;
    if (kept != null) {
      kept.release();
    }
  }

  @Override
  public void clientWritable(boolean writable) {
    if (writable && sender != null) {
      sender.taken();
    }
  }

  @Override
  public void checkTimeouts(long now) {
    TimeoutSettings timeouts = client.state().server().live().timeouts();
    boolean late = over(now - startedAt, timeouts.total());
    if (sender != null) {
      boolean longer = over(now - startedAt, timeouts.streamTotal());
      boolean stuck = !client.writable() && over(now - lastSentAt, timeouts.clientIdle());
      if (longer || stuck) {
        end();
        client.reset();
      }
      return;
    }
    boolean waits = stream != null && stream.paused();
    boolean slow =
        upload.tooSlow(
            now,
            !received && !waits,
            streamed + buffered() + dropped,
            client.state().server().live().limits().clients());
    boolean silent = over(now - lastReadAt, timeouts.clientBody());
    if (!received && !waits && (late || slow || silent)) {
      reply(ProxyError.REQUEST_TIMEOUT);
    } else if (late && !endpoint.waits()) {
      reply(ProxyError.LOCAL_TIMEOUT);
    }
  }

  private static boolean over(long passed, Duration timeout) {
    return timeout.isPositive() && passed > timeout.toNanos();
  }

  @Override
  public void cut() {
    if (sender != null) {
      end();
      client.breakOff(false);
      return;
    }
    reply(ProxyError.SHUTTING_DOWN);
  }
}
