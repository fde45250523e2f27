package io.pointsman.sim.http;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request and its response. Everything happens on the connection's event loop. A response is
 * either {@link #respond whole} or a {@link #openEvents stream of events}; when the client leaves
 * first, {@link #onGone} is told.
 */
public final class Exchange {
  private final HttpConnection connection;
  private final String method;
  private final String uri;
  private final HttpHeaders headers;
  private final byte[] body;
  private final QueryStringDecoder query;
  private Runnable gone = Exchange::nothing;
  private Runnable writable = Exchange::nothing;
  private Runnable ended = Exchange::nothing;
  private boolean done;
  private boolean clientGone;
  private boolean streaming;
  private long firstTokenDelayMillis;
  private boolean malformed;
  private int status;

  Exchange(HttpConnection connection, String method, String uri, HttpHeaders headers, byte[] body) {
    this.connection = connection;
    this.method = method;
    this.uri = uri;
    this.headers = headers;
    this.body = body;
    this.query = new QueryStringDecoder(uri);
  }

  /** The method as it came. */
  public String method() {
    return method;
  }

  /** The request target as it came, query included. */
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

  /** Decoded query parameters. */
  public Map<String, List<String>> parameters() {
    return query.parameters();
  }

  /** Request headers. */
  public HttpHeaders headers() {
    return headers;
  }

  /** The body's bytes; not to be modified. */
  public byte[] body() {
    return body;
  }

  /**
   * The body as JSON.
   *
   * @throws RequestError 400 if it is none
   */
  public JsonNode json() {
    return Json.parse(body);
  }

  /** Called once if the client leaves before the response is complete. */
  public void onGone(Runnable action) {
    gone = action;
  }

  /** Called whenever a full connection can take more of an open stream. */
  public void onWritable(Runnable action) {
    writable = action;
  }

  /** Called once when the exchange is over, in whichever way. */
  public void onEnded(Runnable action) {
    ended = action;
  }

  /** Engine time in milliseconds by which the request reaches the scheduler late. */
  public long firstTokenDelayMillis() {
    return firstTokenDelayMillis;
  }

  /** Delays the request on its way to the scheduler. */
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
   * Whether the response was broken by order, so that the end of the connection says nothing about
   * the client.
   */
  public boolean faulted() {
    return malformed || connection.broken();
  }

  /** Whether the connection ended before the response was complete. */
  public boolean clientGone() {
    return clientGone;
  }

  /** The status answered with; 0 until then. */
  public int status() {
    return status;
  }

  /** Whether the response is complete or the client gone. */
  public boolean done() {
    return done;
  }

  /** Answers with a JSON document. */
  public void respond(int code, JsonNode document) {
    respond(code, "application/json", Json.bytes(document), Map.of());
  }

  /** Answers with an error in OpenAI shape. */
  public void fail(int code, String type, String message, @Nullable String param) {
    respond(code, Json.error(code, type, message, param));
  }

  /** Answers with bytes; an empty content type leaves the header out. */
  public void respond(int code, String contentType, byte[] content, Map<String, String> more) {
    if (done) {
      return;
    }
    status = code;
    connection.writeWhole(this, code, contentType, content, more);
    end();
  }

  /** Starts an event stream: headers leave at once. */
  public EventStream openEvents() {
    streaming = true;
    status = 200;
    connection.writeHead(this);
    return new EventStream(this, connection);
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
