package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.wire.RequestHead;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request that the router answers itself: receives it whole, has it handled on a virtual thread,
 * replies. Belongs to the client's event loop.
 */
final class LocalExchange implements Conversation {
  private static final Logger LOG = LoggerFactory.getLogger(LocalExchange.class);

  private final ClientConnection client;
  private final RequestHead head;
  private final LocalEndpoint endpoint;
  private final String requestId;
  private final ByteArrayOutputStream body = new ByteArrayOutputStream(0);
  private long dropped;
  private boolean received;
  private boolean over;
  private final long startedAt;
  private long lastReadAt;

  LocalExchange(ClientConnection client, RequestHead head, LocalEndpoint endpoint) {
    this.client = client;
    this.head = head;
    this.endpoint = endpoint;
    requestId = client.state().plane().requestIds().of(head);
    startedAt = client.state().now();
    lastReadAt = startedAt;
  }

  /** The largest body that is taken in, be it only its head that is kept. */
  private long mostBytes() {
    LimitSettings limits = client.state().plane().limits();
    return endpoint.takesHeadOfBody() ? limits.maxBodyBytes() : mostKept();
  }

  private long mostKept() {
    LimitSettings limits = client.state().plane().limits();
    return Math.min(limits.maxBodyBytes(), limits.maxBufferedBody());
  }

  @Override
  public void begin() {
    if (head.contentLength() > mostBytes()) {
      reply(tooLarge());
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
    int length = part.readableBytes();
    int kept = (int) Math.min(length, Math.max(0, mostKept() - body.size()));
    if (body.size() + dropped + length > mostBytes()) {
      part.release();
      reply(tooLarge());
      return;
    }
    byte[] bytes = new byte[kept];
    part.readBytes(bytes).release();
    body.writeBytes(bytes);
    dropped += length - kept;
  }

  @Override
  public void contentEnd() {
    received = true;
    LocalRequest request =
        new LocalRequest(
            head.method(),
            head.path(),
            head.query(),
            headers(),
            body.toByteArray(),
            dropped > 0,
            requestId);
    Thread.ofVirtual().name("pointsman-local").start(() -> handle(request));
  }

  private Map<String, List<String>> headers() {
    Map<String, List<String>> byName = new HashMap<>();
    head.forEach(
        (name, value) ->
            byName
                .computeIfAbsent(name.toString().toLowerCase(Locale.ROOT), _ -> new ArrayList<>())
                .add(value.toString()));
    return byName;
  }

  /** On a virtual thread. */
  private void handle(LocalRequest request) {
    Reply reply;
    try {
      LocalResponse response = endpoint.handle(request);
      reply = new Reply(response.status(), response.headers(), response.body());
    } catch (Throwable e) { // also what a defect throws that is no exception: the client waits
      LOG.error("{} {} failed, request {}", head.method(), head.path(), requestId, e);
      reply = Reply.of(ProxyError.INTERNAL, ProxyError.INTERNAL.message());
    }
    Reply made = reply;
    try {
      client.state().loop().execute(() -> reply(made));
    } catch (RejectedExecutionException e) {
      LOG.debug("the router has stopped before {} {} was answered", head.method(), head.path(), e);
    }
  }

  private void reply(Reply reply) {
    if (!over) {
      over = true;
      client.reply(head, requestId, reply, received);
    }
  }

  @Override
  public void contentBroken() {
    reply(Reply.of(ProxyError.MALFORMED_REQUEST, ProxyError.MALFORMED_REQUEST.message()));
  }

  @Override
  public void contentPause() {}

  @Override
  public boolean received() {
    return received;
  }

  @Override
  public void clientGone() {
    over = true;
  }

  @Override
  public void clientWritable(boolean writable) {}

  @Override
  public void checkTimeouts(long now) {
    TimeoutSettings timeouts = client.state().plane().timeouts();
    boolean late = over(now - startedAt, timeouts.total());
    if (!received && (late || over(now - lastReadAt, timeouts.clientBody()))) {
      reply(Reply.of(ProxyError.REQUEST_TIMEOUT, ProxyError.REQUEST_TIMEOUT.message()));
    } else if (late) {
      reply(Reply.of(ProxyError.LOCAL_TIMEOUT, ProxyError.LOCAL_TIMEOUT.message()));
    }
  }

  private static boolean over(long passed, Duration timeout) {
    return timeout.isPositive() && passed > timeout.toNanos();
  }

  @Override
  public void cut() {
    reply(Reply.of(ProxyError.SHUTTING_DOWN, ProxyError.SHUTTING_DOWN.message()));
  }
}
