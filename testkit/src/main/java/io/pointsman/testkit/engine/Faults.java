package io.pointsman.testkit.engine;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** Engines' behaviours by name, good and bad. */
public final class Faults {
  private Faults() {}

  /** Answers with a JSON document. */
  public record Answer(int status, String body) implements EngineScript {
    /** 200 with a small document. */
    public static Answer ok() {
      return new Answer(200, "{\"ok\":true}");
    }

    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.reply(status, "application/json", body);
    }
  }

  /**
   * Answers probes and says that it serves {@code model}, but not how large its KV memory is; does
   * {@code then} with the rest.
   */
  public record Healthy(String model, EngineScript then) implements EngineScript {
    /** The router asks for these before a worker's first request, and waits for an answer. */
    private static final Set<String> KV_SIZES =
        Set.of("GET /get_server_info", "GET /server_info", "GET /metrics");

    /** Whether it is a question for the size of the KV memory, by the request's first line. */
    public static boolean asksForKvSize(String line) {
      return KV_SIZES.contains(line.replaceFirst(" HTTP/.*", ""));
    }

    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      if (request.line().startsWith("GET /health ")) {
        connection.reply(200, "text/plain", "");
      } else if (request.line().startsWith("GET /v1/models ")) {
        String models = "{\"object\":\"list\",\"data\":[{\"id\":\"" + model + "\"}]}";
        connection.reply(200, "application/json", models);
      } else if (asksForKvSize(request.line())) {
        connection.reply(404, "text/plain", "");
      } else {
        then.answer(request, connection);
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

  /** Sends these bytes, whatever they are, and keeps the connection. */
  public record Raw(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.send(bytes);
    }
  }

  /** Streams these events, a chunk each, to the end. */
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

  /** Accepts the request and never answers, until the peer goes. */
  public record HangBeforeHeaders() implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.awaitPeerGone();
      connection.close();
    }
  }

  /** Sends these bytes, then nothing until the peer goes. */
  public record HangAfter(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.send(bytes).awaitPeerGone();
      connection.close();
    }
  }

  /** Sends these bytes, then breaks the connection with a reset. */
  public record ResetAfterBytes(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      connection.send(bytes);
      Thread.sleep(50); // a reset would overtake what is still being read
      connection.reset();
    }
  }

  /** Sends these bytes, then closes the connection in an orderly way. */
  public record CloseAfter(String bytes) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.send(bytes).close();
    }
  }

  /** Waits before it does what {@code then} says. */
  public record SlowFirstToken(Duration delay, EngineScript then) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      Thread.sleep(delay.toMillis());
      then.answer(request, connection);
    }
  }

  /** Streams one event, then something that is not a chunk. */
  public record MalformedChunk() implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection.beginEvents().chunk("data: one\n\n").send("xyz\r\n").awaitPeerGone();
    }
  }

  /** An answer whose end is the end of the connection. */
  public record CloseDelimited(String body) implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection) throws IOException {
      connection
          .send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n" + body)
          .close();
    }
  }
}
