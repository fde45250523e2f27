package io.pointsman.testkit.engine;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/** Behaviours of engines by name, good and bad. */
public final class Faults {
  private Faults() {}

  /** Answers with a JSON document. */
  public record Answer(int status, String body) implements EngineScript {
    /** Status 200 with a small document. */
    public static Answer ok() {
      return new Answer(200, "{\"ok\":true}");
    }

    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.reply(status, "application/json", body);
    }
  }

  /**
   * Answers probes and reports {@code model}, but no size of its KV memory and no sleep state;
   * passes all other requests to {@code then}.
   */
  public record Healthy(String model, EngineScript then) implements EngineScript {
    /** The router sends these before a worker's first request, and waits for a response. */
    private static final Set<String> KV_SIZES =
        Set.of("GET /get_server_info", "GET /server_info", "GET /metrics");

    /**
     * True if the request asks for the size of the KV memory.
     *
     * @param line first line of the request
     */
    public static boolean asksForKvSize(String line) {
      return KV_SIZES.contains(line.replaceFirst(" HTTP/.*", ""));
    }

    private static final Set<String> SLEEP_STATES = Set.of("GET /is_sleeping", "GET /is_paused");

    /**
     * True if the request asks whether the engine sleeps or is paused.
     *
     * @param line first line of the request
     */
    public static boolean asksForSleep(String line) {
      return SLEEP_STATES.contains(line.replaceFirst(" HTTP/.*", ""));
    }

    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      if (request.line().startsWith("GET /health ")) {
        connection.reply(200, "text/plain", "");
      } else if (request.line().startsWith("GET /v1/models ")) {
        String models = "{\"object\":\"list\",\"data\":[{\"id\":\"" + model + "\"}]}";
        connection.reply(200, "application/json", models);
      } else if (asksForKvSize(request.line()) || asksForSleep(request.line())) {
        connection.reply(404, "text/plain", "");
      } else {
        then.answer(request, connection);
      }
    }
  }

  /**
   * Begins a stream with {@code data: begun}, and ends it when the test lets it. Answers other
   * requests with 200.
   *
   * @param stream body of the requests for a stream
   * @param end lets all streams end
   */
  public record OpenStreams(String stream, CountDownLatch end) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      if (request.bodyText().equals(stream)) {
        connection.beginEvents().chunk("data: begun\n\n");
        end.await();
        connection.chunk("data: [DONE]\n\n").lastChunk();
      } else {
        Answer.ok().answer(request, connection);
      }
    }
  }

  /** Answers the first request of each connection, and ends the connection at the second. */
  public record OneRequestPerConnection(boolean withReset) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      if (connection.requests() == 1) {
        Answer.ok().answer(request, connection);
      } else if (withReset) {
        connection.reset();
      } else {
        connection.close();
      }
    }
  }

  /** Sends the given bytes and keeps the connection. */
  public record Raw(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.send(bytes);
    }
  }

  /** Streams the given events completely, one chunk each. */
  public record EventStream(List<String> events) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.beginEvents();
      for (String event : events) {
        connection.chunk("data: " + event + "\n\n");
      }
      connection.chunk("data: [DONE]\n\n").lastChunk();
    }
  }

  /** Accepts the request and waits until the peer leaves. */
  public record HangBeforeHeaders() implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.awaitPeerGone();
      connection.close();
    }
  }

  /** Sends the given bytes and waits until the peer leaves. */
  public record HangAfter(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.send(bytes).awaitPeerGone();
      connection.close();
    }
  }

  /** Sends the given bytes, then resets the connection. */
  public record ResetAfterBytes(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      connection.send(bytes);
      Thread.sleep(50); // a reset would overtake data that the peer has not read yet
      connection.reset();
    }
  }

  /** Sends the given bytes, then closes the connection in an orderly way. */
  public record CloseAfter(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.send(bytes).close();
    }
  }

  /** Waits before it runs {@code then}. */
  public record SlowFirstToken(Duration delay, EngineScript then) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      Thread.sleep(delay.toMillis());
      then.answer(request, connection);
    }
  }

  /** Streams one event, then an invalid chunk. */
  public record MalformedChunk() implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.beginEvents().chunk("data: one\n\n").send("xyz\r\n").awaitPeerGone();
    }
  }

  /** A response that ends with the connection. */
  public record CloseDelimited(String body) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection
          .send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n" + body)
          .close();
    }
  }
}
