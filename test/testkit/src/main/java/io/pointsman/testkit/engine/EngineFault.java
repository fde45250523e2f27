package io.pointsman.testkit.engine;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Faults of an engine, by name; {@link #strike} activates one. If the engine still answers at all,
 * it also answers probes as healthy, so the traffic meets the fault.
 */
@SuppressWarnings({
  "StringConcatToTextBlock", // line ends matter
  "ImmutableEnumChecker" // scripts have no state
})
public enum EngineFault {
  /** Refuses every connection. */
  REFUSES {
    @Override
    public void strike(ScriptedEngine engine, String model) throws IOException {
      engine.stopListening();
    }
  },
  /** Accepts connections and reads nothing. */
  NEVER_READS {
    @Override
    public void strike(ScriptedEngine engine, String model) throws IOException {
      engine.unresponsive(true);
    }
  },
  /** Reads the request and sends nothing. */
  HANGS_BEFORE_HEADERS(new Faults.HangBeforeHeaders()),
  /** Sends a part of the head and nothing else. */
  HANGS_WITHIN_HEADERS(new Faults.HangAfter("HTTP/1.1 200 OK\r\ncontent-ty")),
  /** Sends an endless head, byte by byte. */
  TRICKLES_HEADERS(
      (_, connection) -> {
        connection.send("HTTP/1.1 200 OK\r\nx-endless: ");
        trickle(connection, Integer.MAX_VALUE);
      }),
  /** Streams one event and nothing else. */
  HANGS_MID_STREAM(new Faults.HangAfter(ResponseParts.EVENTS + ResponseParts.EVENT)),
  /** Resets the connection instead of answering. */
  RESETS_BEFORE_HEADERS((_, connection) -> connection.reset()),
  /** Resets the connection within the head. */
  RESETS_WITHIN_HEADERS(new Faults.ResetAfterBytes("HTTP/1.1 200 OK\r\ncontent-ty")),
  /** Resets the connection after the head. */
  RESETS_AFTER_HEADERS(new Faults.ResetAfterBytes(ResponseParts.EVENTS)),
  /** Resets the connection after one event. */
  RESETS_MID_STREAM(new Faults.ResetAfterBytes(ResponseParts.EVENTS + ResponseParts.EVENT)),
  /** Closes within a chunk. */
  HALF_CHUNK(
      new Faults.CloseAfter(ResponseParts.EVENTS + ResponseParts.EVENT + "20\r\ndata: half")),
  /** Sends an invalid chunk size. */
  BAD_CHUNK_SIZE(
      new Faults.HangAfter(ResponseParts.EVENTS + ResponseParts.EVENT + "xyz\r\nwhatever\r\n")),
  /** Sends a chunk longer than its size. */
  WRONG_CHUNK_SIZE(
      new Faults.HangAfter(
          ResponseParts.EVENTS + ResponseParts.EVENT + "3\r\ndata: longer\n\n\r\n")),
  /** Sends a chunk size that overflows a long. */
  OVERSIZE_CHUNK(
      new Faults.HangAfter(ResponseParts.EVENTS + ResponseParts.EVENT + "fffffffffffffffff\r\n")),
  /** Sends a head of 70 KB. */
  HEAD_TOO_LARGE(
      (_, connection) ->
          connection.send(
              ResponseParts.OK
                  + "x-large: "
                  + "a".repeat(70_000)
                  + "\r\n"
                  + ResponseParts.LENGTH_2)),
  /** Sends a header of 100 MB. */
  HUGE_HEADER(
      (_, connection) -> {
        byte[] filler = new byte[1 << 16];
        Arrays.fill(filler, (byte) 'a');
        connection.send(ResponseParts.OK + "x-huge: ");
        for (int sent = 0; sent < 100 << 20; sent += filler.length) {
          connection.send(filler);
        }
        connection.send("\r\n" + ResponseParts.LENGTH_2);
      }),
  /** Announces more bytes than it sends, and closes. */
  LENGTH_TOO_LONG(
      new Faults.CloseAfter(ResponseParts.OK + "content-length: 100\r\n\r\n{\"ok\":true}")),
  /** Sends more bytes than it announces. */
  LENGTH_TOO_SHORT(
      new Faults.Raw(
          ResponseParts.OK + "content-length: 11\r\n\r\n{\"ok\":true}HTTP/1.1 200 OK\r\n")),
  /** Announces both a length and chunks. */
  LENGTH_AND_CHUNKS(
      new Faults.Raw(
          ResponseParts.OK + "content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")),
  /** Sends endless interim responses. */
  INTERIM_STORM(
      (_, connection) -> ResponseParts.repeat(connection, "HTTP/1.1 103 Early Hints\r\n\r\n")),
  /** Sends endless 100 responses. */
  CONTINUE_STORM(
      (_, connection) -> ResponseParts.repeat(connection, "HTTP/1.1 100 Continue\r\n\r\n")),
  /** Uses HTTP/1.0: the end of the connection ends the response. */
  SPEAKS_HTTP_10(
      new Faults.CloseAfter("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{\"ok\":1}")),
  /** Closes a kept connection exactly when the next request is written. */
  CLOSES_AS_REQUEST_COMES(new Faults.OneRequestPerConnection(false)),
  /** Resets a kept connection at that moment, like a server that closes with unread data. */
  RESETS_AS_REQUEST_COMES(new Faults.OneRequestPerConnection(true)),
  /** Sends data that is not HTTP. */
  GARBAGE(new Faults.HangAfter("\u0000\u0001\u0002SSH-2.0-nobody\r\n\r\n\r\n")),
  /** Uses TLS where plain HTTP is expected. */
  SPEAKS_TLS(new Faults.CloseAfter("\u0015\u0003\u0001\u0000\u0002\u0002F")),
  /** Sends a good response, byte by byte. */
  TRICKLES(
      (_, connection) -> {
        byte[] answer =
            (ResponseParts.OK + ResponseParts.LENGTH_2 + "{}")
                .getBytes(StandardCharsets.ISO_8859_1);
        for (byte b : answer) {
          connection.send(new byte[] {b});
          Thread.sleep(1); // makes it slow
        }
      }),
  /** Sends an endless response, byte by byte. */
  TRICKLES_FOREVER(
      (_, connection) -> {
        connection.send(ResponseParts.OK + "content-length: 1000000000\r\n\r\n");
        trickle(connection, Integer.MAX_VALUE);
      });

  private final EngineScript script;

  EngineFault() {
    this(Faults.Answer.ok());
  }

  EngineFault(EngineScript script) {
    this.script = script;
  }

  /** Makes a healthy engine for {@code model} show this fault. */
  public void strike(ScriptedEngine engine, String model) throws IOException {
    engine.now(new Faults.Healthy(model, script));
  }

  private static void trickle(EngineConnection connection, int bytes)
      throws IOException, InterruptedException {
    for (int i = 0; i < bytes; i++) {
      connection.send("a");
      Thread.sleep(20); // makes it slow
    }
  }

  /** Parts of responses; a separate class, because the constants of an enum come first. */
  private static final class ResponseParts {
    static final String OK = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    static final String LENGTH_2 = "content-length: 2\r\n\r\n";
    static final String EVENTS =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    static final String EVENT = "b\r\ndata: one\n\n\r\n";

    private ResponseParts() {}

    static void repeat(EngineConnection connection, String interim) throws IOException {
      String many = interim.repeat(100);
      while (true) {
        connection.send(many);
      }
    }
  }
}
