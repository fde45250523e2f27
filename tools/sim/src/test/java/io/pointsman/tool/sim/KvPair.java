package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.channel.EventLoopGroup;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** A prefill and a decode engine with one protocol, driven by hand like a router. */
final class KvPair implements AutoCloseable {
  static final String WORDS =
      "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
          + " sixteen seventeen eighteen nineteen twenty and then some more words to fill blocks";
  static final String CHAT = "/v1/chat/completions";
  static final String COMPLETIONS = "/v1/completions";
  static final String RESPONSES = "/v1/responses";
  private static final Duration HANG = Duration.ofSeconds(60);
  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  final SimEngine prefill;
  final SimEngine decode;
  private final EventLoopGroup loops = SimEngine.newGroup(2);

  KvPair(KvConnector connector) {
    this(connector, options -> options);
  }

  KvPair(KvConnector connector, UnaryOperator<KvOptions> change) {
    this(connector, SimConfig.instant(), change, change);
  }

  KvPair(
      KvConnector connector,
      SimConfig config,
      UnaryOperator<KvOptions> prefillChange,
      UnaryOperator<KvOptions> decodeChange) {
    KvOptions first = KvOptions.of(KvRole.PREFILL, connector);
    KvOptions second = KvOptions.of(KvRole.DECODE, connector);
    prefill = SimEngine.start(config.withKv(prefillChange.apply(first)), loops);
    decode = SimEngine.start(config.withKv(decodeChange.apply(second)), loops);
  }

  /** A completion request for one token, the basis of every prefill request. */
  static ObjectNode prefillBody() {
    return SimJson.object().put("prompt", WORDS).put("max_tokens", 1).put("stream", false);
  }

  /** The client's own request. */
  static ObjectNode decodeBody() {
    return SimJson.object().put("prompt", WORDS).put("max_tokens", 5);
  }

  /** NIXL's parameters for prefill. */
  static ObjectNode asks() {
    ObjectNode params = SimJson.object().put("do_remote_decode", true);
    params.put("do_remote_prefill", false).putNull("remote_engine_id").putNull("remote_block_ids");
    return params.putNull("remote_host").putNull("remote_port");
  }

  static HttpResponse<String> post(SimEngine engine, String path, JsonNode body, String... headers)
      throws IOException {
    try {
      return HTTP.send(request(engine, path, body, headers), BodyHandlers.ofString());
    } catch (InterruptedException e) {
      throw new IllegalStateException("test: interrupted", e);
    }
  }

  static CompletableFuture<HttpResponse<String>> postAsync(
      SimEngine engine, String path, JsonNode body, String... headers) {
    return HTTP.sendAsync(request(engine, path, body, headers), BodyHandlers.ofString());
  }

  private static HttpRequest request(
      SimEngine engine, String path, JsonNode body, String... headers) {
    HttpRequest.Builder builder =
        HttpRequest.newBuilder(URI.create(engine.url() + path))
            .timeout(HANG)
            .POST(BodyPublishers.ofString(body.toString(), StandardCharsets.UTF_8));
    for (int i = 0; i < headers.length; i += 2) {
      builder.header(headers[i], headers[i + 1]);
    }
    return builder.build();
  }

  /** Returns the response of a request that must succeed. */
  static JsonNode ok(SimEngine engine, String path, JsonNode body, String... headers)
      throws IOException {
    HttpResponse<String> response = post(engine, path, body, headers);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return SimWireClient.json(response.body());
  }

  /** Sends a request that must be refused and counted because of a field. */
  static void refused(SimEngine engine, String field, String path, JsonNode body, String... headers)
      throws IOException {
    long before = engine.kvState().fieldErrors().getOrDefault(field, 0L);
    HttpResponse<String> response = post(engine, path, body, headers);
    assertThat(response.statusCode()).as(response.body()).isIn(400, 500);
    JsonNode error = SimWireClient.json(response.body()).path("error");
    assertThat(error.path("param").asText()).as(response.body()).isEqualTo(field);
    KvState state = engine.kvState();
    assertThat(state.fieldErrors()).containsEntry(field, before + 1);
    assertThat(state.reasons().getLast()).startsWith(field + ": ");
  }

  /** Waits until an engine reaches a state. */
  static KvState await(SimEngine engine, Predicate<KvState> wanted) {
    AtomicReference<KvState> last = new AtomicReference<>(engine.kvState());
    Await.until(
        () -> "a state, last " + last.get(),
        () -> wanted.test(last.updateAndGet(_ -> engine.kvState())));
    return last.get();
  }

  /** Checks that nothing is held any more and everything was released. */
  void settled(long released) {
    KvState state = await(prefill, s -> s.reserved().released() == released);
    assertThat(state.reserved().requests()).isZero();
    assertThat(state.reserved().blocks()).isZero();
    assertThat(state.reserved().leaked()).isZero();
    assertThat(prefill.state().kv().pinned()).isZero();
  }

  @Override
  public void close() {
    prefill.close();
    decode.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
