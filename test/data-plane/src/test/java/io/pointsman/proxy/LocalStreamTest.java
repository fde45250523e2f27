package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.LocalContent;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.settings.LimitSettings;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Endpoints of the router that do not keep bodies in memory. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class LocalStreamTest {
  private static final int LIMIT = 6_000_000;

  /** Smaller than all bodies here. */
  private static final ProxySettings SMALL =
      ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000));

  @Parameter Transport transport = Transport.AUTO;

  /** An endpoint that reads its body as a stream. */
  private interface Reader extends LocalEndpoint {
    @Override
    default boolean streamsBody() {
      return true;
    }

    @Override
    default int mostBytes() {
      return LIMIT;
    }
  }

  private static InputStream body(LocalRequest request) {
    return Objects.requireNonNull(request.stream());
  }

  private ProxyRig rig(Reader reader) throws IOException {
    return new ProxyRig(transport, SMALL, LocalRoutes.builder().on("POST", "/in", reader).build());
  }

  /** A body that is opened for an answer. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Bytes(byte[] bytes, CountDownLatch closed, int broken) implements LocalContent {
    @Override
    public long length() {
      return (long) bytes.length + broken;
    }

    @Override
    public InputStream open() {
      return new ByteArrayInputStream(bytes) {
        @Override
        public void close() {
          closed.countDown();
        }
      };
    }
  }

  private static byte[] some(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) ('a' + i % 23);
    }
    return bytes;
  }

  private static String text(int length) {
    return new String(some(length), StandardCharsets.US_ASCII);
  }

  private static String chunked(String body, int size) {
    StringBuilder text =
        new StringBuilder("POST /in HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n");
    for (int from = 0; from < body.length(); from += size) {
      String part = body.substring(from, Math.min(body.length(), from + size));
      text.append(Integer.toHexString(part.length())).append("\r\n").append(part).append("\r\n");
    }
    return text.append("0\r\n\r\n").toString();
  }

  @Test
  void aLargeBodyIsReadAndSentInPieces() throws Exception {
    try (ProxyRig rig =
        rig(
            request -> {
              byte[] all = body(request).readAllBytes();
              return LocalResponse.of("text/plain", new Bytes(all, new CountDownLatch(1), 0));
            })) {
      WireClient client = rig.connect();
      for (int length : new int[] {0, 1, 70_000, 3_000_000}) {
        WireResponse response = client.send(ProxyRig.post("/in", text(length))).read();
        assertThat(response.status()).isEqualTo(200);
        assertThat(response.header("content-type")).isEqualTo("text/plain");
        assertThat(response.body()).isEqualTo(some(length));
        assertThat(response.complete()).isTrue();
        ProxyRig.await("a report", () -> !rig.lines.isEmpty());
        assertThat(rig.lines).hasSize(1).first().asString().contains(" POST /in 200 null ");
        rig.lines.clear();
      }
      assertThat(client.send(chunked(text(2_000_000), 30_000)).read().body())
          .isEqualTo(some(2_000_000));
    }
  }

  @Test
  void aReaderThatWaitsHoldsItsClientBack() throws Exception {
    CountDownLatch reads = new CountDownLatch(1);
    try (ProxyRig rig =
        rig(
            request -> {
              reads.await();
              long length = body(request).transferTo(java.io.OutputStream.nullOutputStream());
              return LocalResponse.text(200, String.valueOf(length));
            })) {
      WireClient client = rig.connect();
      String sent = ProxyRig.post("/in", text(5_900_000));
      CompletableFuture<Void> all =
          CompletableFuture.runAsync(
              () -> {
                try {
                  client.send(sent);
                } catch (IOException e) {
                  throw new java.io.UncheckedIOException(e);
                }
              });
      assertThat(rig.connect().send(ProxyRig.post("/else", "{}")).read().status()).isEqualTo(503);
      reads.countDown();
      assertThat(client.read().text()).isEqualTo("5900000");
      all.get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void anAnswerMayPrecedeTheEndOfTheBody() throws Exception {
    try (ProxyRig rig = rig(request -> LocalResponse.text(400, "no"))) {
      WireClient client = rig.connect();
      client.send("POST /in HTTP/1.1\r\nhost: r\r\ncontent-length: 5000000\r\n\r\nabc");
      WireResponse response = client.read();
      assertThat(response.status()).isEqualTo(400);
      assertThat(response.header("connection")).isEqualTo("close");
    }
  }

  @Test
  void aBodyAboveTheLimitIsRefused() throws Exception {
    CompletableFuture<IOException> broken = new CompletableFuture<>();
    try (ProxyRig rig =
        rig(
            request -> {
              try {
                body(request).readAllBytes();
              } catch (IOException e) {
                broken.complete(e);
                throw e;
              }
              return LocalResponse.text(200, "all");
            })) {
      assertThat(
              rig.ask("POST /in HTTP/1.1\r\nhost: r\r\ncontent-length: 6000001\r\n\r\n").status())
          .isEqualTo(413);
      assertThat(broken).isNotDone();
      WireClient client = rig.connect();
      client.send(chunked(text(LIMIT + 1), 1_000_000).replace("0\r\n\r\n", ""));
      assertThat(client.read().status()).isEqualTo(413);
      assertThat(broken.get(60, TimeUnit.SECONDS)).hasMessageContaining("ended early");
    }
  }

  @Test
  void aClientThatLeavesEndsTheReaderAndTheContent() throws Exception {
    CompletableFuture<IOException> broken = new CompletableFuture<>();
    CountDownLatch closed = new CountDownLatch(1);
    CountDownLatch begun = new CountDownLatch(1);
    LocalRoutes routes =
        LocalRoutes.builder()
            .on(
                "POST",
                "/in",
                (Reader)
                    request -> {
                      begun.countDown();
                      try {
                        body(request).readAllBytes();
                      } catch (IOException e) {
                        broken.complete(e);
                      }
                      return LocalResponse.text(200, "all");
                    })
            .on(
                "GET",
                "/out",
                _ -> LocalResponse.of("text/plain", new Bytes(some(50_000_000), closed, 0)))
            .build();
    try (ProxyRig rig = new ProxyRig(transport, SMALL, routes)) {
      WireClient client = rig.connect();
      client.send("POST /in HTTP/1.1\r\nhost: r\r\ncontent-length: 5000000\r\n\r\nabc");
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      client.reset();
      assertThat(broken.get(60, TimeUnit.SECONDS)).hasMessageContaining("ended early");

      WireClient reader = rig.connect().send("GET /out HTTP/1.1\r\nhost: r\r\n\r\n");
      assertThat(reader.head().header("content-length")).isEqualTo("50000000");
      assertThat(closed.getCount()).isEqualTo(1);
      reader.reset();
      assertThat(closed.await(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void aContentThatEndsEarlyBreaksTheConnection() throws Exception {
    LocalRoutes routes =
        LocalRoutes.builder()
            .on(
                "GET",
                "/out",
                _ -> LocalResponse.of("text/plain", new Bytes(some(9), new CountDownLatch(1), 1)))
            .build();
    try (ProxyRig rig = new ProxyRig(transport, SMALL, routes)) {
      WireResponse response = rig.ask("GET /out HTTP/1.1\r\nhost: r\r\nconnection: close\r\n\r\n");
      assertThat(response.complete()).isFalse();
      WireResponse head = rig.connect().send("HEAD /out HTTP/1.1\r\nhost: r\r\n\r\n").head();
      assertThat(head.header("content-length")).isEqualTo("10");
    }
  }
}
