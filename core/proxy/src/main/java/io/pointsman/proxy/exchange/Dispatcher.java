package io.pointsman.proxy.exchange;

import io.netty.channel.Channel;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.Paths;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Dispatcher of a client connection's requests, by their head. A request is refused, answered by
 * the router, or sent to a worker. Belongs to the connection's event loop.
 */
final class Dispatcher {
  private static final byte[] CONTINUE =
      "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  /** The methods that vllm-router forwards. */
  private static final List<String> STANDARD =
      List.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE");

  private final ClientConnection client;
  private final ServerContext plane;

  Dispatcher(ClientConnection client) {
    this.client = client;
    plane = client.state().plane();
  }

  /** Handles a new head. */
  void begin(RequestHead head) {
    RequestHead.Fault fault = head.fault();
    if (fault != null) {
      refuse(head, error(fault), null);
    } else if (head.method().equals("TRACE") || head.method().equals("CONNECT")) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    } else if (plane.cors().preflight(head)) {
      preflight(head);
    } else if (plane.limits().strictness().methods() && !STANDARD.contains(head.method())) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, String.join(", ", STANDARD));
    } else if (head.webSocket() && !plane.cors().admitsWebSocket(head)) {
      refuse(head, ProxyError.ORIGIN_REFUSED, null);
    } else {
      checkCaller(head);
    }
  }

  private void checkCaller(RequestHead head) {
    String authorization = head.first("authorization");
    switch (plane.callers().known(authorization)) {
      case ADMITTED -> dispatch(head);
      case REFUSED -> refuseCaller(head);
      case UNKNOWN -> {
        AskingExchange asking = new AskingExchange(client, this, head);
        client.take(asking);
        asking.ask(plane.callers(), authorization == null ? "" : authorization);
      }
    }
  }

  /** Refuses a request because its caller is not permitted. */
  void refuseCaller(RequestHead head) {
    ProxyError error = ProxyError.INVALID_API_KEY;
    Reply reply = Reply.of(error, error.message()).with("www-authenticate", "Bearer");
    client.reply(head, plane.requestIds().of(head), reply, client.answering());
  }

  /** Continues with a request of a permitted caller. */
  void dispatch(RequestHead head) {
    LocalRoutes.Methods local = plane.routes().at(head.path());
    if (local != null) {
      beginLocal(local, head);
      return;
    }
    String plain = Paths.plain(head.uri());
    if (plain.equals(head.uri())) {
      start(new Exchange(client, head), head);
    } else {
      dispatchPlain(head, head.at(plain));
    }
  }

  /**
   * Dispatches a request with doubled slashes in its path, or one at its end.
   *
   * @param plain the same head without these slashes; it counts if its path is known
   */
  private void dispatchPlain(RequestHead head, RequestHead plain) {
    LocalRoutes.Methods local = plane.routes().at(plain.path());
    if (local != null) {
      beginLocal(local, plain);
      return;
    }
    boolean known = Endpoint.of(plain.method(), plain.uri()) != Endpoint.TRANSPARENT;
    RequestHead sent = known ? plain : head;
    start(new Exchange(client, sent), sent);
  }

  private void beginLocal(LocalRoutes.Methods local, RequestHead head) {
    LocalEndpoint endpoint = local.forMethod(head.method());
    if (endpoint == null) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, local.allow());
    } else {
      start(new LocalExchange(client, head, endpoint), head);
    }
  }

  private void start(ClientStream conversation, RequestHead head) {
    client.take(conversation);
    conversation.begin();
    if (client.busyWith(conversation) && head.expectsContinue() && head.hasBody()) {
      Channel channel = client.channel();
      client.write(channel.alloc().buffer(CONTINUE.length).writeBytes(CONTINUE));
      client.flush();
    }
  }

  private static ProxyError error(RequestHead.Fault fault) {
    return switch (fault) {
      case MALFORMED -> ProxyError.MALFORMED_REQUEST;
      case URI_TOO_LONG -> ProxyError.URI_TOO_LONG;
      case HEADERS_TOO_LARGE -> ProxyError.HEADERS_TOO_LARGE;
      case VERSION -> ProxyError.VERSION_NOT_SUPPORTED;
      case EXPECTATION -> ProxyError.EXPECTATION_FAILED;
    };
  }

  /**
   * Refuses a request and closes the connection, because the bytes after the head are unreliable.
   */
  private void refuse(RequestHead head, ProxyError error, @Nullable String allow) {
    Reply reply = Reply.of(error, error.message());
    String id = head.fault() == null ? plane.requestIds().of(head) : plane.requestIds().make("");
    client.reply(head, id, allow == null ? reply : reply.with("allow", allow), false);
  }

  private void preflight(RequestHead head) {
    String lines = plane.cors().lines(head) + plane.cors().preflightLines(head);
    Reply reply = new Reply(204, Map.of(), new byte[0]);
    boolean keep = client.mayKeep(head, !head.hasBody());
    String more = lines + head.connectionLine(keep);
    client.write(reply.render(client.channel().alloc(), plane.requestIds().of(head), more, false));
    client.finished(keep);
  }
}
