package io.pointsman.proxy.reply;

import io.pointsman.proxy.identity.Priority;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.request.coding.ContentCoding;
import java.util.Locale;

/**
 * All failures that the router reports for requests, each with its status and message. Type and
 * code follow OpenAI's error object. {@link LocalError} has further errors of the router's own
 * endpoints.
 */
public enum ProxyError implements ErrorCode {
  MALFORMED_REQUEST(400, Blame.CLIENT, "request: malformed (expected: HTTP/1.1)"),
  INVALID_BODY(400, Blame.CLIENT, "request body: invalid (expected: a JSON object)"),
  INVALID_PARAMETER(400, Blame.CLIENT, "parameter: invalid"),
  INVALID_PRIORITY(400, Blame.CLIENT, Priority.HEADER + ": (expected: high, normal or low)"),
  INVALID_API_KEY(
      401,
      Blame.CLIENT,
      "authorization: missing or invalid (expected: Bearer and a valid API key)"),
  ORIGIN_REFUSED(403, Blame.CLIENT, "origin: not allowed for WebSockets"),
  KEY_NOT_PERMITTED(
      403, Blame.CLIENT, "authorization: the role of this API key does not permit this call"),
  MODEL_NOT_PERMITTED(403, Blame.CLIENT, "model: not permitted for this API key"),
  ADMIN_CALL_REFUSED(403, Blame.CLIENT, "the call's Host or Origin is not allowed"),
  NOT_FOUND(404, Blame.CLIENT, "path: unknown on the admin listener"),
  UNKNOWN_MODEL(404, "invalid_request_error", "model_not_found", Blame.CLIENT, "model: not found"),
  UNKNOWN_RESPONSE(
      404,
      "invalid_request_error",
      "response_not_found",
      Blame.CLIENT,
      "response: not found on any worker"),
  ADMIN_PATH(404, Blame.CLIENT, "the path is served on the admin listener only"),
  PATH_NOT_ALLOWED(404, Blame.CLIENT, "the path is not among paths.allow"),
  WORKER_NOT_FOUND(404, Blame.CLIENT, "worker: not found"),
  LEASE_NOT_FOUND(404, Blame.CLIENT, "lease: unknown or expired"),
  LEASE_EXISTS(409, Blame.CLIENT, "lease: already used (expected: a new id for each request)"),
  LEASE_SETTLED(409, Blame.CLIENT, "lease: already settled"),
  LEASE_NOT_SPLIT(409, Blame.CLIENT, "lease: not split; it has no prefill worker to report"),
  WORKER_LEFT(410, Blame.CLIENT, "lease: its worker has left; ask for a new decision"),
  METHOD_NOT_ALLOWED(405, Blame.CLIENT, "method: not allowed on this path"),
  UNSPLITTABLE(
      400,
      Blame.CLIENT,
      "prefill and decode workers cannot serve this request together, and no other worker can serve"
          + " it"),
  REQUEST_TIMEOUT(408, Blame.CLIENT, "request: did not arrive in time"),
  BODY_TOO_LARGE(413, Blame.CLIENT, "request body: too large"),
  ENCODED_BODY(
      415,
      Blame.CLIENT,
      "content-encoding: not supported (expected: one of " + ContentCoding.NAMES + ")"),
  UNPROCESSABLE_BODY(422, Blame.CLIENT, "request body: not as the API describes it"),
  URI_TOO_LONG(414, Blame.CLIENT, "request line: too long"),
  EXPECTATION_FAILED(417, Blame.CLIENT, "expect: not supported (expected: 100-continue)"),
  HEADERS_TOO_LARGE(431, Blame.CLIENT, "headers: too large"),
  VERSION_NOT_SUPPORTED(
      505, Blame.CLIENT, "version: not supported (expected: HTTP/1.0 or HTTP/1.1)"),

  CLIENT_REQUESTS_LIMITED(
      429, "requests", "rate_limit_exceeded", Blame.CLIENT, "the client's limit is reached"),
  CLIENT_TOKENS_LIMITED(
      429, "tokens", "rate_limit_exceeded", Blame.CLIENT, "the client's limit is reached"),
  QUEUE_FULL(429, "rate_limit_error", "queue_full", Blame.ROUTER, "the queue is full"),
  QUEUE_DISPLACED(
      429,
      "rate_limit_error",
      "queue_displaced",
      Blame.ROUTER,
      "the queue is full, and a request of another client or a higher priority came before this"
          + " one"),
  SEARCHES_LIMITED(
      503, Blame.ROUTER, "too many requests for stored responses that no worker is known to have"),
  QUEUE_TIMEOUT(503, Blame.ROUTER, "the request waited too long in the queue"),
  KEY_UNCONFIRMED(503, Blame.ROUTER, "the API key cannot be validated at the moment"),
  NO_WORKERS(503, Blame.ROUTER, "no worker is registered for this request"),
  MODELS_PENDING(503, Blame.ROUTER, "the models of some workers are not known yet"),
  NONE_AVAILABLE(503, Blame.ROUTER, "no worker is available at the moment"),
  ALL_BUSY(503, "server_error", "all_busy", Blame.UPSTREAM, "all workers are busy"),
  TOO_MANY_LEASES(503, Blame.ROUTER, "leases: too many are open (expected: decide.max-leases)"),
  SHUTTING_DOWN(503, Blame.ROUTER, "the router is shutting down"),
  POISON_REQUEST(
      500,
      "server_error",
      "poison_request",
      Blame.CLIENT,
      "two workers failed after this request, so it is not sent to another one for a while"),
  ROUTING_LOOP(
      508,
      "server_error",
      "routing_loop",
      Blame.ROUTER,
      "the request has already passed this router or too many routers: a worker is a router that"
          + " sends requests back"),
  INTERNAL(500, Blame.ROUTER, "the router failed on this request"),
  PATH_REFUSED(501, Blame.ROUTER, "the path is not sent to an engine (admin.refused-paths)"),
  DECIDE_DISABLED(
      501,
      Blame.ROUTER,
      "decide.enabled: false (expected: true, for proxies that ask for decisions)"),
  OUT_OF_DESCRIPTORS(503, Blame.ROUTER, "the router has no free file descriptor"),
  OUT_OF_PORTS(503, Blame.ROUTER, "the router has no free port for a connection to the worker"),
  BUFFERS_FULL(503, Blame.ROUTER, "the router's memory for request bodies is full"),
  LOCAL_TIMEOUT(504, Blame.ROUTER, "the router did not answer in time"),

  UPSTREAM_CONNECT(502, Blame.UPSTREAM, "the worker cannot be reached"),
  UPSTREAM_RESET(502, Blame.UPSTREAM, "the worker closed the connection before it answered"),
  UPSTREAM_PROTOCOL(502, Blame.UPSTREAM, "the worker's response is not valid HTTP"),
  UPSTREAM_TIMEOUT(504, Blame.UPSTREAM, "the worker did not answer in time"),
  TOTAL_TIMEOUT(504, Blame.UPSTREAM, "the response took longer than allowed"),
  /**
   * As {@link #TOTAL_TIMEOUT}, for an answer that was still arriving. The limit is the reason, not
   * the worker.
   */
  TOTAL_REACHED(
      504, "server_error", "total_timeout", Blame.ROUTER, "the response took longer than allowed"),
  /**
   * The worker ended an answer early. The client gets an error event or a broken connection, or
   * this status if it has received nothing.
   */
  UPSTREAM_BROKE_OFF(502, Blame.UPSTREAM, "the worker ended its response early"),
  /** As {@link #UPSTREAM_BROKE_OFF}, because the worker's engine shut down. */
  UPSTREAM_ABORTED(503, Blame.UPSTREAM, "the worker shut down before its response was complete"),
  /** As {@link #UPSTREAM_BROKE_OFF}, because the worker was silent. */
  UPSTREAM_STALLED(504, Blame.UPSTREAM, "the worker stalled in the middle of its response");

  private final int status;
  private final String type;
  private final String code;
  private final Blame blame;
  private final String message;

  ProxyError(int status, Blame blame, String message) {
    this.status = status;
    this.blame = blame;
    this.message = message;
    type = blame == Blame.CLIENT ? "invalid_request_error" : "server_error";
    code = name().toLowerCase(Locale.ROOT);
  }

  ProxyError(int status, String type, String code, Blame blame, String message) {
    this.status = status;
    this.type = type;
    this.code = code;
    this.blame = blame;
    this.message = message;
  }

  @Override
  public int status() {
    return status;
  }

  @Override
  public String type() {
    return type;
  }

  @Override
  public String code() {
    return code;
  }

  public Blame blame() {
    return blame;
  }

  /**
   * True if the router refuses the request only because of load, so it can succeed later. These
   * errors are the closed list of reasons in {@code x-pointsman-shed-reason}.
   */
  public boolean sheds() {
    return switch (this) {
      case CLIENT_REQUESTS_LIMITED,
          CLIENT_TOKENS_LIMITED,
          QUEUE_FULL,
          QUEUE_DISPLACED,
          QUEUE_TIMEOUT,
          SEARCHES_LIMITED,
          ALL_BUSY,
          OUT_OF_DESCRIPTORS,
          OUT_OF_PORTS,
          BUFFERS_FULL ->
          true;
      default -> false;
    };
  }

  /** Message for the client if there is no detail. */
  public String message() {
    return message;
  }

  /**
   * The error object as a JSON document on one line.
   *
   * @param detail message in place of {@link #message()}; cut after 300 characters
   */
  public String json(String detail) {
    return "{\"error\":{\"message\":\""
        + JsonStrings.escape(detail)
        + "\",\"type\":\""
        + type
        + "\",\"param\":"
        + (this == UNKNOWN_MODEL ? "\"model\"" : "null")
        + ",\"code\":\""
        + code
        + "\"}}";
  }
}
