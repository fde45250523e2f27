package io.pointsman.tool.sim.http;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response, on the connection's event loop. A response is either {@link
 * #respond complete} or a {@link #openEvents stream of events}. If the client leaves first, the
 * action of {@link #onGone} runs.
 */
public final class SimExchange {
  private final HttpConnection connection;
  private final String method;
  private final String uri;
  private final HttpHeaders headers;
  private final byte[] body;
  private final QueryStringDecoder query;
  private Runnable gone = SimExchange::nothing;
  private Runnable writable = SimExchange::nothing;
  private Runnable ended = SimExchange::nothing;
  private boolean done;
  private boolean clientGone;
  private boolean streaming;
  private long firstTokenDelayMillis;
  private boolean malformed;
  private int status;

  SimExchange(
      HttpConnection connection, String method, String uri, HttpHeaders headers, byte[] body) {
    this.connection = connection;
    this.method = method;
    this.uri = uri;
    this.headers = headers;
    this.body = body;
    this.query = new QueryStringDecoder(uri);
  }

  /** The method as received. */
  public String method() {
    return method;
  }

  /** The request target as received, including the query. */
  public String uri() {
    return uri;
  }

  /** The path, undecoded. */
  public String path() {
    return query.rawPath();
  }

  /** The query after the question mark, undecoded; empty without one. */
  public String rawQuery() {
    return query.rawQuery();
  }

  /** The decoded query parameters. */
  public Map<String, List<String>> parameters() {
    return query.parameters();
  }

  public HttpHeaders headers() {
    return headers;
  }

  /** The body's bytes; must not be modified. */
  public byte[] body() {
    return body;
  }

  /**
   * The body as JSON.
   *
   * @throws RequestError 400 if it is not JSON
   */
  public JsonNode json() {
    return SimJson.parse(body);
  }

  /** Sets an action to run once if the client leaves before the response is complete. */
  public void onGone(Runnable action) {
    gone = action;
  }

  /** Sets an action to run whenever a full connection accepts more of an open stream. */
  public void onWritable(Runnable action) {
    writable = action;
  }

  /** Sets an action to run once at the end of the exchange, in any way. */
  public void onEnded(Runnable action) {
    ended = action;
  }

  /** Delay of the request before the scheduler, in milliseconds of engine time. */
  public long firstTokenDelayMillis() {
    return firstTokenDelayMillis;
  }

  /** Delays the request before it reaches the scheduler. */
  public void delayFirstToken(long millis) {
    firstTokenDelayMillis = millis;
  }

  /** Makes the response an invalid chunked one. */
  public void malform() {
    malformed = true;
  }

  /** Breaks the connection after {@code bytes} of this response. */
  public void breakAfter(long bytes, boolean orderly) {
    connection.breakAfter(bytes, orderly);
  }

  /**
   * Returns true if a fault broke the response; the end of the connection is then no action of the
   * client.
   */
  public boolean faulted() {
    return malformed || connection.broken();
  }

  /** Returns true if the connection ended before the response was complete. */
  public boolean clientGone() {
    return clientGone;
  }

  /** The response status; 0 before the response. */
  public int status() {
    return status;
  }

  /** Returns true if the response is complete or the client has left. */
  public boolean done() {
    return done;
  }

  /** Responds with a JSON document. */
  public void respond(int code, JsonNode document) {
    respond(code, "application/json", SimJson.bytes(document), Map.of());
  }

  /**
   * Responds with an error in the form of the API. As in vLLM, errors that the server finds before
   * the route's own code have OpenAI's form on every route.
   */
  public void fail(int code, String type, String message, @Nullable String param) {
    respond(code, error(code, type, message, param));
  }

  /** An error in the form of the API. */
  public JsonNode error(int code, String type, String message, @Nullable String param) {
    boolean anthropic = path().startsWith("/v1/messages") && !type.equals(RequestError.MALFORMED);
    return anthropic
        ? SimJson.anthropicError(type, message)
        : SimJson.error(code, type, message, param);
  }

  /** Responds with bytes; an empty content type omits the header. */
  public void respond(int code, String contentType, byte[] content, Map<String, String> more) {
    if (done) {
      return;
    }
    status = code;
    connection.writeWhole(this, code, contentType, content, more);
    end();
  }

  /** Starts an event stream and sends the headers at once. */
  public SimEventStream openEvents() {
    streaming = true;
    status = 200;
    connection.writeHead(this);
    return new SimEventStream(this, connection);
  }

  boolean malformed() {
    return malformed;
  }

  void end() {
    if (!done) {
      done = true;
      ended.run();
      connection.finished(this);
    }
  }

  void connectionLost() {
    if (!done) {
      done = true;
      clientGone = true;
      gone.run();
      ended.run();
    }
  }

  void connectionWritable() {
    if (streaming && !done) {
      writable.run();
    }
  }

  private static void nothing() {}
}
