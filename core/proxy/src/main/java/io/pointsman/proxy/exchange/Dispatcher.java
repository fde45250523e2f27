package io.pointsman.proxy.exchange;

import io.netty.channel.Channel;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.settings.LimitSettings.Strictness;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.Paths;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Dispatcher of a client connection's requests, by their head. A request is refused, answered by
 * the router, or sent to a worker. Belongs to the connection's event loop.
 */
final class Dispatcher {
  private static final byte[] CONTINUE =
      "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private static final String ADMIN_KEY =
      "authorization: missing or invalid (expected: Bearer and the key of the admin listener)";

  /** Browsers ask for a password only if the second scheme is offered. */
  private static final String CHALLENGE = "Bearer, Basic realm=\"pointsman\"";

  private final ClientConnection client;

  Dispatcher(ClientConnection client) {
    this.client = client;
  }

  /** Handles a new head. */
  void begin(RequestHead received) {
    RequestHead head = client.origin().identified(received);
    RequestHead.HeadFault fault = head.fault();
    String problem = fault == null && !client.admin() ? hostProblem(head) : null;
    if (fault != null) {
      refuse(head, error(fault), null);
    } else if (loops(head)) {
      refuseLoop(head);
    } else if (head.method().equals("TRACE") || head.method().equals("CONNECT")) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    } else if (client.admin()) {
      beginAdmin(head, found(server().live().paths().admin().routes(), head));
    } else if (problem != null) {
      refuse(head, ProxyError.ORIGIN_REFUSED, problem, Map.of());
    } else if (server().live().cors().preflight(head)) {
      preflight(head);
    } else if (strictness().methods() && StandardMethods.refusal(head) != null) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, StandardMethods.refusal(head));
    } else if (head.webSocket() && !server().live().cors().admitsWebSocket(head)) {
      refuse(head, ProxyError.ORIGIN_REFUSED, null);
    } else {
      Found found =
          known(head) ? null : found(server().live().paths().admin().onClientPort(), head);
      if (found == null) {
        checkCaller(head);
      } else {
        beginAdmin(head, found);
      }
    }
  }

  /** True if routers sent the request in a circle. */
  private boolean loops(RequestHead head) {
    String via = head.viaRouters();
    return via != null && server().router().endsLoop(via);
  }

  /** Ends a circle. */
  private void refuseLoop(RequestHead head) {
    ProxyError error = ProxyError.ROUTING_LOOP;
    refuse(head, error, error.message(), Rejections.loopHeaders(server().router()));
  }

  /** The problem with the request's Host; null if there is none. */
  private @Nullable String hostProblem(RequestHead head) {
    AllowedHosts hosts = server().live().hosts();
    if (hosts.any() || !(client.channel().localAddress() instanceof InetSocketAddress local)) {
      return null;
    }
    boolean keys = server().live().callers().known(null) != CallerCheck.Verdict.ADMITTED;
    return hosts.problem(head.first("host"), keys, local.getPort());
  }

  /** A route of the router, and the head with the spelling of the path that has it. */
  private record Found(LocalRoutes.Methods methods, RequestHead head) {}

  /** The route of a path as it is, without superfluous slashes, or normalised; null if none. */
  private static @Nullable Found found(LocalRoutes routes, RequestHead head) {
    LocalRoutes.Methods exact = routes.at(head.path());
    if (exact != null) {
      return new Found(exact, head);
    }
    String uri = head.uri();
    String plain = Paths.plain(uri);
    Found found = plain.equals(uri) ? null : found(routes, head, plain);
    String normal = Paths.normal(uri);
    return found == null && !normal.equals(uri) ? found(routes, head, normal) : found;
  }

  private static @Nullable Found found(LocalRoutes routes, RequestHead head, String uri) {
    RequestHead other = head.at(uri);
    LocalRoutes.Methods methods = routes.at(other.path());
    return methods == null ? null : new Found(methods, other);
  }

  /**
   * Begins a call to an admin path.
   *
   * @param found null if there is no such path
   */
  private void beginAdmin(RequestHead head, @Nullable Found found) {
    AdminGuard guard = server().live().paths().admin().guard();
    boolean page = found != null && found.methods.page() && head.method().equals("GET");
    String problem = guard.problem(head, page);
    boolean forPlanes = found != null && found.methods.forPlanes(head.method());
    Caller caller =
        found != null && found.methods.withoutKey()
            ? Caller.OPEN
            : guard.caller(head, forPlanes, connection());
    if (problem != null) {
      refuse(head, ProxyError.ADMIN_CALL_REFUSED, problem, Map.of());
    } else if (caller == null && guard.knows(head)) {
      ProxyError error = ProxyError.KEY_NOT_PERMITTED;
      refuse(head, error, error.message(), Map.of());
    } else if (caller == null) {
      refuse(head, ProxyError.INVALID_API_KEY, ADMIN_KEY, Map.of("www-authenticate", CHALLENGE));
    } else if (found == null) {
      refuse(head, ProxyError.NOT_FOUND, ProxyError.NOT_FOUND.message(), Map.of());
    } else if (found.methods.ofClient() && !caller.byAuthorization()) {
      checkCaller(head, caller);
    } else {
      RequestHead known = caller.holder() == null ? found.head : found.head.of(caller.holder());
      beginLocal(found.methods, known, caller);
    }
  }

  /** The connection of a call to an admin path. The client port needs no certificate. */
  private AdminGuard.CallConnection connection() {
    boolean certified = !client.admin() || client.origin().hasCertificate();
    boolean loopback = client.origin().cameToLoopback();
    return new AdminGuard.CallConnection(certified, loopback, client.admin());
  }

  private void refuse(
      RequestHead head, ProxyError error, String detail, Map<String, String> headers) {
    Reply reply = Reply.of(error, detail);
    for (Map.Entry<String, String> each : headers.entrySet()) {
      reply = reply.with(each.getKey(), each.getValue());
    }
    client
        .replies()
        .reply(head, server().live().requestIds().of(head), reply, !head.hasBody(), error, 0);
  }

  private void checkCaller(RequestHead head) {
    checkCaller(head, null);
  }

  /**
   * Checks the key of a client.
   *
   * @param admin the caller of an admin path, which has the client's headers; null: the client
   *     itself
   */
  private void checkCaller(RequestHead head, @Nullable Caller admin) {
    CallerCheck callers = server().live().callers();
    String authorization = CallerCheck.credentials(head);
    KeyHolder holder = callers.holder(authorization);
    if (holder != null) {
      RequestHead known = head.of(holder.identity());
      if (holder.role() == KeyRole.CLIENT) {
        dispatch(known, admin);
      } else {
        refuseCaller(known, ProxyError.KEY_NOT_PERMITTED);
      }
      return;
    }
    CallerCheck.Admittance admission = callers.admission(authorization);
    switch (admission.verdict()) {
      case ADMITTED -> dispatch(named(head, admission), admin);
      case REFUSED -> refuseCaller(head);
      case UNKNOWN -> {
        AskingExchange asking = new AskingExchange(client, this, head, admin);
        client.take(asking);
        asking.ask(callers, authorization == null ? "" : authorization);
      }
    }
  }

  /** The head of the client that an authority names; the same head if it names none. */
  static RequestHead named(RequestHead head, CallerCheck.Admittance admission) {
    return admission.client() == null ? head : head.of(admission.client());
  }

  /** Refuses a request because its caller has no valid key. */
  void refuseCaller(RequestHead head) {
    refuseCaller(head, ProxyError.INVALID_API_KEY);
  }

  private void refuseCaller(RequestHead head, ProxyError error) {
    Reply refusal = Reply.of(error, error.message());
    Reply reply =
        error == ProxyError.INVALID_API_KEY ? refusal.with("www-authenticate", "Bearer") : refusal;
    client
        .replies()
        .reply(head, server().live().requestIds().of(head), reply, client.answering(), error, 0);
  }

  /**
   * Continues with a request of a permitted caller.
   *
   * @param admitted the request, with the client by its key
   * @param admin the caller of an admin path; null for a path of clients
   */
  void dispatch(RequestHead admitted, @Nullable Caller admin) {
    CallerCheck.Principal behind = server().live().callers().sentFor(admitted, admitted.identity());
    RequestHead head =
        behind == null ? admitted : admitted.onBehalfOf(behind.client(), behind.owner());
    if (admin == null && known(head)) {
      start(new Exchange(client, head), head);
      return;
    }
    Found found =
        found(
            admin == null
                ? server().live().paths().forClients()
                : server().live().paths().admin().routes(),
            head);
    if (found != null) {
      beginLocal(found.methods, found.head, admin == null ? Caller.OPEN : admin);
      return;
    }
    if (admin != null) {
      // The path has ended while its key was checked. It is no path of the workers.
      refuse(head, ProxyError.NOT_FOUND, ProxyError.NOT_FOUND.message(), Map.of());
      return;
    }
    String normal = Paths.normal(head.uri());
    RequestHead compared = normal.equals(head.uri()) ? head : head.at(normal);
    boolean ofEndpoint =
        Paths.sendable(normal, head.uri())
            && Endpoint.of(compared.method(), compared.uri()) != Endpoint.TRANSPARENT;
    RequestHead sent = ofEndpoint ? compared : head;
    LocalEndpoint refusal = refusal(compared, sent);
    String allowed =
        strictness().methods() ? StandardMethods.refusal(compared, strictness()) : null;
    if (refusal != null) {
      start(new LocalExchange(client, head, refusal, Caller.OPEN), head);
    } else if (allowed != null) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, allowed);
    } else {
      if (normal.equals(head.uri()) && !ofAdmin(head)) {
        client.state().knownPaths().add(head.method(), head.uri());
      }
      start(new Exchange(client, sent), sent);
    }
  }

  private boolean known(RequestHead head) {
    return client.state().knownPaths().contains(head.method(), head.uri());
  }

  /**
   * True for a connection of the admin listener and for an admin path. The context may have changed
   * since the path was compared with those.
   */
  private boolean ofAdmin(RequestHead head) {
    return client.admin() || found(server().live().paths().admin().onClientPort(), head) != null;
  }

  /**
   * The endpoint that refuses a closed path; null if it is open. A path that goes to a worker as it
   * was received must be open in both readings, because not every server resolves dot segments.
   */
  @SuppressWarnings("ReferenceEquality") // tests for the same object
  private @Nullable LocalEndpoint refusal(RequestHead compared, RequestHead sent) {
    ClosedPaths closed = server().live().paths().admin().closed();
    LocalEndpoint refusal = closed.at(compared.method(), compared.path());
    return refusal != null || sent == compared
        ? refusal
        : closed.at(sent.method(), Paths.plain(Paths.literal(sent.uri())));
  }

  private void beginLocal(LocalRoutes.Methods local, RequestHead head, Caller caller) {
    LocalEndpoint endpoint = local.forMethod(head.method());
    if (endpoint == null) {
      refuse(head, ProxyError.METHOD_NOT_ALLOWED, local.allow());
    } else {
      start(new LocalExchange(client, head, endpoint, caller), head);
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

  private static ProxyError error(RequestHead.HeadFault fault) {
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
    boolean explained = error == ProxyError.MALFORMED_REQUEST && !head.problem().isEmpty();
    Reply reply = Reply.of(error, explained ? head.problem() : error.message());
    String id =
        head.fault() == null
            ? server().live().requestIds().of(head)
            : server().live().requestIds().make("");
    client
        .replies()
        .reply(head, id, allow == null ? reply : reply.with("allow", allow), false, error, 0);
  }

  private void preflight(RequestHead head) {
    String lines = server().live().cors().lines(head) + server().live().cors().preflightLines(head);
    Reply reply = new Reply(204, Map.of(), new byte[0]);
    boolean keep = client.replies().mayKeep(head, !head.hasBody());
    String more = lines + head.connectionLine(keep);
    client.write(
        reply.render(client.channel().alloc(), server().live().requestIds().of(head), more, false));
    client.finished(keep);
  }

  private Strictness strictness() {
    return server().live().limits().strictness();
  }

  /** The present context; it changes when the settings change. */
  private ServerContext server() {
    return client.state().server();
  }
}
