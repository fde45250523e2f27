package io.pointsman.proxy;

import static io.pointsman.proxy.Http2Wire.get;
import static io.pointsman.proxy.Http2Wire.post;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.Http2Wire.Answer;
import io.pointsman.proxy.Http2Wire.Frame;
import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients that misuse HTTP/2: floods end with their connection, malformed requests with a reset.
 */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class Http2AbuseTest {
  private static final String BODY = "{\"model\":\"m\"}";

  private static ProxySettings with(int streams, int resets) {
    ProxySettings usual = ProxySettings.DEFAULTS;
    return usual.withListen(
        usual.listen().withHttp2(new Http2FrontSettings(true, false, streams, resets)));
  }

  private interface Flood {
    void wave(Http2Wire client, int number) throws IOException;
  }

  /** Sends waves until the router ends the connection. Returns the error of its GOAWAY. */
  private static int flooded(Http2Wire client, Flood flood) throws IOException {
    try {
      for (int i = 0; i < 100_000; i++) {
        flood.wave(client, i);
        if (i % 100 == 99) {
          client.frame(Http2Wire.PING, 0, 0, ByteBuffer.allocate(8).putLong(i).array());
          Frame frame = client.next();
          // Waits for its own answer, or it would be far ahead of the router.
          while (frame != null && !(frame.type() == Http2Wire.PING && frame.number(4) == i)) {
            if (frame.type() == Http2Wire.GOAWAY) {
              return frame.number(4);
            }
            frame = client.next();
          }
          if (frame == null) {
            return -1;
          }
        }
      }
    } catch (IOException _) {
      // The router has closed the connection; its last frame may still be there.
      Frame away = client.next(Http2Wire.GOAWAY);
      return away == null ? -1 : away.number(4);
    }
    throw new AssertionError("the router accepts the flood");
  }

  @Test
  void rapidResetsEndTheConnection() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, with(100, 50));
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      int error =
          flooded(
              client,
              (to, i) ->
                  to.chat(2 * i + 1, BODY)
                      .frame(Http2Wire.RESET, 0, 2 * i + 1, Http2Wire.number(Http2Wire.CANCEL)));
      assertThat(error).isIn(Http2Wire.CALM, -1);
      ProxyRig.await("closed", () -> rig.server().clients() == 0);
      assertThat(rig.ended.size()).isLessThan(200);
    }
  }

  @Test
  void furtherStreamsThanAllowedAreRefused() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, with(2, 1000));
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.chat(1, BODY).chat(3, BODY).head(5, true, get("/v1/models"));
      assertThat(client.answer(5).reset()).isEqualTo(7); // REFUSED_STREAM
      assertThat(rig.server().running()).isLessThanOrEqualTo(2);
    }
  }

  @Test
  void floodsOfPingsAndSettingsEndTheConnection() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO)) {
      for (int type : List.of(Http2Wire.PING, Http2Wire.SETTINGS)) {
        byte[] payload = new byte[type == Http2Wire.PING ? 8 : 0];
        try (Http2Wire client = new Http2Wire(rig.server().port())) {
          assertThat(flooded(client, (to, _) -> to.frame(type, 0, 0, payload)))
              .isIn(Http2Wire.CALM, -1);
        }
      }
      ProxyRig.await("closed", () -> rig.server().clients() == 0);
    }
  }

  @Test
  void endlessHeadsEndTheConnection() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      client.frame(Http2Wire.HEADERS, 0, 1, Http2Wire.block(get("/")));
      byte[] small = Http2Wire.block("a", "b");
      int error = flooded(client, (to, _) -> to.frame(Http2Wire.CONTINUATION, 0, 1, small));
      assertThat(error).isIn(Http2Wire.CALM, Http2Wire.PROTOCOL_ERROR, -1);
      ProxyRig.await("closed", () -> rig.server().clients() == 0);
    }
  }

  @Test
  void emptyPartsOfABodyEndTheConnection() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      client.head(1, false, post("/v1/chat/completions"));
      assertThat(flooded(client, (to, _) -> to.data(1, false, ""))).isIn(Http2Wire.CALM, -1);
    }
  }

  /** A table that grows with each answer. The client's decoder fails above the usual size. */
  @Test
  void aLargeTableForHeadersIsNotUsed() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      byte[] table = ByteBuffer.allocate(6).putShort((short) 1).putInt(1 << 30).array();
      client.frame(Http2Wire.SETTINGS, 0, 0, table);
      for (int i = 0; i < 200; i++) {
        String id = i + "-".repeat(50);
        client.head(2 * i + 1, true, get("/v1/other", "x-request-id", id));
        assertThat(client.answer(2 * i + 1).header("x-request-id")).isEqualTo(id);
      }
    }
  }

  static List<Frame> errors() {
    byte[] most = Http2Wire.number(Integer.MAX_VALUE);
    return List.of(
        new Frame(Http2Wire.CONTINUATION, 4, 1, Http2Wire.block(get("/")), "1"),
        new Frame(Http2Wire.WINDOW, 0, 0, most, "3"),
        new Frame(Http2Wire.DATA, 0, 1, new byte[Http2Wire.MOST + 1], "6"));
  }

  /** More bytes follow, so a close without care would be a reset. */
  @ParameterizedTest
  @MethodSource("errors")
  void anErrorOfTheConnectionIsNamed(Frame wrong) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      client.frame(wrong.type(), wrong.flags(), wrong.stream(), wrong.payload());
      try {
        client.frame(wrong.type(), wrong.flags(), wrong.stream(), wrong.payload());
      } catch (IOException _) {
        // The router has closed its side.
      }
      Frame away = requireNonNull(client.next(Http2Wire.GOAWAY));
      assertThat(away.number(4)).isEqualTo(Integer.parseInt(wrong.lines()));
      assertThat(client.next()).isNull();
      client.close();
      ProxyRig.await("closed", () -> rig.server().clients() == 0);
    }
  }

  @Test
  void idleConnectionsClose() throws Exception {
    FakeClock clock = new FakeClock();
    TimeoutSettings usual = TimeoutSettings.DEFAULTS;
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, clock);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      assertThat(client.chat(1, BODY).answer(1).status()).isEqualTo("200");
      // The router handles it after the end of the stream.
      client.frame(Http2Wire.PING, 0, 0, new byte[8]).next(Http2Wire.PING);
      clock.advance(usual.clientIdle().plus(Duration.ofSeconds(1)));
      assertThat(requireNonNull(client.next(Http2Wire.GOAWAY)).number(4))
          .isEqualTo(Http2Wire.NO_ERROR);
      assertThat(requireNonNull(client.next(Http2Wire.GOAWAY)).number(0))
          .as("the last stream that was served")
          .isEqualTo(1);
      assertThat(client.next()).isNull();
    }
  }

  static List<List<String>> malformed() {
    return List.of(
        List.of(get("/x", "a", "b\r\nx-forged: 1")),
        List.of(get("/x", "a", "b\nc")),
        List.of(get("/x", "a", "b\0c")),
        List.of(get("/x", "a b", "c")),
        List.of(get("/x", "Upper", "c")),
        List.of(get("/x", "", "c")),
        List.of(get("/x HTTP/1.1\r\nhost: other\r\n\r\nGET /y")),
        List.of(get("x")),
        List.of(get("")),
        List.of(get("/x", "connection", "close")),
        List.of(get("/x", "transfer-encoding", "chunked")),
        List.of(get("/x", "upgrade", "websocket")),
        List.of(get("/x", "te", "gzip")),
        List.of(get("/x", "host", "other")),
        List.of(get("/x", "host", "router", "host", "other")),
        List.of(get("/x", ":authority", "other")),
        List.of(get("http://router/x")),
        List.of(get("*")),
        List.of(get("/x", "te", "trailers, chunked")),
        List.of(post("/x", "content-length", "0", "content-length", "5")),
        List.of(post("/x", "content-length", "-1")),
        List.of(get("/x", ":path", "/late")),
        List.of(get("/x", ":unknown", "y")),
        List.of(post("/x", "content-length", "5")));
  }

  /** None reaches a worker, and none can become two requests. */
  @ParameterizedTest
  @MethodSource("malformed")
  void malformedRequestsAreReset(List<String> lines) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.head(1, true, lines.toArray(new String[0]));
      @Nullable Frame frame = client.next();
      while (frame != null && frame.type() != Http2Wire.RESET && frame.type() != Http2Wire.GOAWAY) {
        assertThat(frame.type()).isNotEqualTo(Http2Wire.HEADERS);
        frame = client.next();
      }
      assertThat(requireNonNull(frame).number(frame.type() == Http2Wire.GOAWAY ? 4 : 0))
          .isEqualTo(Http2Wire.PROTOCOL_ERROR);
      if (frame.type() == Http2Wire.RESET) {
        Answer next = client.chat(3, BODY).answer(3);
        assertThat(next.status()).isEqualTo("200");
        assertThat(engine.requests()).hasSize(1);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "12", "1234"})
  void aBodyOfAnotherLengthThanAnnouncedIsReset(String body) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.head(1, false, post("/v1/other", "content-length", "3")).data(1, true, body);
      assertThat(client.answer(1).reset()).isEqualTo(Http2Wire.PROTOCOL_ERROR);
      assertThat(client.chat(3, BODY).answer(3).status()).isEqualTo("200");
      assertThat(engine.requests()).hasSize(1);
    }
  }

  /** The body and the trailers look like the end of a body and a second request in HTTP/1.1. */
  @Test
  void noPartOfABodyBecomesARequest() throws Exception {
    String body = "0\r\n\r\nPOST /sleep HTTP/1.1\r\nhost: r\r\ncontent-length: 0\r\n\r\n";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.head(1, false, post("/v1/other")).data(1, false, body).data(1, false, "\r\n0\r\n\r\n");
      client.head(1, true, "content-length", "5", "host", "other", "authorization", "other");
      assertThat(client.answer(1).status()).isEqualTo("200");
      EngineRequest sent = engine.awaitRequest();
      assertThat(sent.bodyText()).isEqualTo(body + "\r\n0\r\n\r\n");
      assertThat(sent.values("content-length")).containsExactly(String.valueOf(body.length() + 7));
      assertThat(sent.values("host")).containsExactly(engine.id());
      assertThat(sent.values("authorization")).isEmpty();
      assertThat(client.chat(3, BODY).answer(3).status()).isEqualTo("200");
      assertThat(engine.requests()).hasSize(2);
    }
  }

  /** A few bytes name a large header again and again. */
  @Test
  void headsAreBoundedByTheirDecodedSize() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      byte[] start = Http2Wire.block(get("/v1/other", "a", "b".repeat(4000)));
      int last = start.length - Http2Wire.block("a", "b".repeat(4000)).length;
      start[last] = 0x40; // the header enters the table
      byte[] block = Arrays.copyOf(start, start.length + 10_000);
      Arrays.fill(block, start.length, block.length, (byte) (0x80 | 62));
      client.frame(Http2Wire.HEADERS, Http2Wire.END_STREAM | Http2Wire.END_HEADERS, 1, block);
      Frame frame = client.next();
      while (frame != null
          && frame.type() != Http2Wire.GOAWAY
          && frame.type() != Http2Wire.RESET
          && !(frame.type() == Http2Wire.HEADERS && frame.lines().startsWith("431"))) {
        frame = client.next();
      }
      assertThat(frame).isNotNull();
      assertThat(engine.requests()).isEmpty();
    }
  }

  @Test
  void aHeadThatDoesNotEndIsClosed() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, clock);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      client.frame(Http2Wire.PING, 0, 0, new byte[8]).next(Http2Wire.PING);
      client.frame(Http2Wire.HEADERS, 0, 1, Http2Wire.block(get("/")));
      clock.advance(TimeoutSettings.DEFAULTS.clientIdle().plus(Duration.ofSeconds(1)));
      assertThat(client.next(Http2Wire.GOAWAY)).isNotNull();
      assertThat(client.next(Http2Wire.GOAWAY)).isNotNull();
      assertThat(client.next()).isNull();
    }
  }
}
