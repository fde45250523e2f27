package io.pointsman.batch;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalContent;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.request.RequestHeaders;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The APIs over a store, with a scripted router. */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
final class BatchRig implements AutoCloseable {
  static final BatchSettings SETTINGS =
      new BatchSettings(
          true, "unused", 4096, 20_000, 1, 5, 2, 3, BatchSettings.DEFAULTS.requestTimeout(), "");

  /** Answers a request; the script of a test. */
  interface Script {
    LineCaller.Answer answer(String body) throws IOException, InterruptedException;
  }

  /** Time in seconds since 1970. */
  final AtomicLong now = new AtomicLong(1_000_000);

  /** Bodies of the requests that were sent, and the paths and ids before them. */
  final ConcurrentLinkedQueue<String> sent = new ConcurrentLinkedQueue<>();

  /** Waits in milliseconds. */
  final ConcurrentLinkedQueue<Long> waits = new ConcurrentLinkedQueue<>();

  volatile Script script = body -> ok("{\"echo\":" + body + "}");

  /** What a wait does besides. */
  volatile LineRequests.Sleeper sleeper = _ -> {};

  private final AtomicReference<BatchSettings> present;
  private final BatchStore store;
  private final BatchRunner runner;

  /** Holders of keys by their names. */
  final Map<String, KeyHolder> keys = new ConcurrentHashMap<>();

  private final BatchClients clients =
      new BatchClients(() -> "secret" + IDS.incrementAndGet(), keys::get);

  final ConcurrentLinkedQueue<String> secrets = new ConcurrentLinkedQueue<>();

  /** Clients by which the router counts the requests that were sent. */
  final ConcurrentLinkedQueue<Optional<ClientIdentity>> countedFor = new ConcurrentLinkedQueue<>();

  private final LocalRoutes routes;
  private static final AtomicInteger IDS = new AtomicInteger();

  BatchRig(Path directory) throws IOException {
    this(directory, SETTINGS);
  }

  BatchRig(Path directory, BatchSettings settings) throws IOException {
    present = new AtomicReference<>(settings);
    store = BatchStore.open(directory);
    LineRequests requests =
        new LineRequests(store, present::get, this::call, clients, this::instant, this::sleep);
    Owners owners = new Owners(true, () -> present.get().maxShare());
    runner = new BatchRunner(store, present::get, requests, clients, this::instant, owners);
    LocalRoutes.Builder builder = LocalRoutes.builder();
    new FilesApi(store, present::get, this::instant, BatchRig::id, owners).addTo(builder);
    new BatchesApi(store, runner, this::instant, BatchRig::id, owners).addTo(builder);
    routes = builder.build();
  }

  BatchRig started() {
    runner.start();
    return this;
  }

  /** Uses other settings from here on. */
  void use(BatchSettings next) {
    present.set(next);
    runner.follow();
  }

  private void sleep(long millis) throws InterruptedException {
    waits.add(millis);
    sleeper.sleep(millis);
  }

  private static String id() {
    return "%04d".formatted(IDS.incrementAndGet());
  }

  private Instant instant() {
    return Instant.ofEpochSecond(now.get());
  }

  static LineCaller.Answer ok(String body) {
    return answer(200, body);
  }

  static LineCaller.Answer answer(int status, String body) {
    return new LineCaller.Answer(status, null, null, "r", body);
  }

  /** Waits for an event, within a bound against hanging. */
  static void await(CountDownLatch event) throws InterruptedException {
    assertThat(event.await(60, java.util.concurrent.TimeUnit.SECONDS)).isTrue();
  }

  private LineCaller.Answer call(
      String path, String requestId, String secret, String body, java.time.Duration timeout)
      throws IOException, InterruptedException {
    secrets.add(secret);
    countedFor.add(Optional.ofNullable(clientOf(secret)));
    sent.add(path + " " + body);
    return script.answer(body);
  }

  /** The client for which the router counts a request with this secret. */
  @Nullable ClientIdentity clientOf(String secret) {
    return clientOf(secret, ClientIdentity.UNKNOWN);
  }

  /**
   * The same with a key of batches.
   *
   * @param sender the client by that key
   */
  @Nullable ClientIdentity clientOf(String secret, ClientIdentity sender) {
    CallerCheck.Principal found = principalOf(secret, sender);
    return found == null ? null : found.client();
  }

  /** The client for which the router counts a request with this secret, with its owner. */
  CallerCheck.@Nullable Principal principalOf(String secret, ClientIdentity sender) {
    return principalOf(secret, sender, check -> check);
  }

  /** The same with a check around that of this store. */
  CallerCheck.@Nullable Principal principalOf(
      String secret, ClientIdentity sender, UnaryOperator<CallerCheck> around) {
    RequestHeaders headers =
        new RequestHeaders() {
          @Override
          public @Nullable String first(String lowerCaseName) {
            return lowerCaseName.equals(BatchClients.HEADER) ? secret : null;
          }

          @Override
          public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
            each.accept(BatchClients.HEADER, secret);
          }
        };
    return around.apply(clients.around(CallerCheck.NONE)).sentFor(headers, sender);
  }

  /** An answer of the API. */
  record Reply(int status, JsonNode json, String text) {}

  Reply call(String method, String target, byte[] body, Map<String, String> headers)
      throws Exception {
    Map<String, String> all = new HashMap<>(this.headers);
    all.putAll(headers);
    return call(method, target, body, all, client);
  }

  Reply call(
      String method, String target, byte[] body, Map<String, String> headers, ClientIdentity client)
      throws Exception {
    int query = target.indexOf('?');
    String path = query < 0 ? target : target.substring(0, query);
    LocalRoutes.Methods methods = requireNonNull(routes.at(path), path);
    LocalEndpoint endpoint = requireNonNull(methods.forMethod(method), method);
    boolean streams = endpoint.streamsBody();
    InputStream stream = streams ? new ByteArrayInputStream(body) : null;
    Map<String, List<String>> lists = new HashMap<>();
    headers.forEach((name, value) -> lists.put(name, List.of(value)));
    LocalResponse response =
        endpoint.handle(
            new LocalRequest(
                    method,
                    path,
                    query < 0 ? "" : target.substring(query + 1),
                    lists,
                    streams ? new byte[0] : body,
                    false,
                    "id",
                    io.pointsman.proxy.local.Caller.Kind.OPEN,
                    stream)
                .of(client));
    LocalContent content = response.content();
    byte[] bytes = response.body();
    if (content != null) {
      try (InputStream in = content.open()) {
        bytes = in.readAllBytes();
      }
      assertThat((long) bytes.length).isEqualTo(content.length());
    }
    String text = new String(bytes, StandardCharsets.UTF_8);
    boolean json = "application/json".equals(response.headers().get("content-type"));
    JsonNode document = json ? Answers.MAPPER.readTree(text) : Answers.MAPPER.missingNode();
    return new Reply(response.status(), document, text);
  }

  /** The owner of a client's stored files. */
  static String ownerOf(Owners owners, ClientIdentity client, Map<String, String> headers) {
    Map<String, List<String>> lists = new HashMap<>();
    headers.forEach((name, value) -> lists.put(name, List.of(value)));
    return owners.of(new LocalRequest("GET", "/v1/files", "", lists, new byte[0], "id").of(client));
  }

  /** The client of the following calls. */
  volatile ClientIdentity client = ClientIdentity.UNKNOWN;

  /** Its headers besides those of a call. */
  volatile Map<String, String> headers = Map.of();

  Reply get(String target) throws Exception {
    return call("GET", target, new byte[0], Map.of());
  }

  Reply delete(String target) throws Exception {
    return call("DELETE", target, new byte[0], Map.of());
  }

  Reply post(String target, String body) throws Exception {
    return post(target, body, Map.of("content-type", "application/json; charset=utf-8"));
  }

  Reply post(String target, String body, Map<String, String> headers) throws Exception {
    return call("POST", target, body.getBytes(StandardCharsets.UTF_8), headers);
  }

  Reply upload(String parts) throws Exception {
    return call(
        "POST",
        "/v1/files",
        parts.getBytes(StandardCharsets.UTF_8),
        Map.of("content-type", "multipart/form-data; boundary=b"));
  }

  static String part(String head, String content) {
    return "--b\r\nContent-Disposition: form-data; " + head + "\r\n\r\n" + content + "\r\n";
  }

  /** Uploads a file and returns its id. */
  String file(String content) throws Exception {
    Reply reply =
        upload(
            part("name=\"purpose\"", "batch")
                + part("name=\"file\"; filename=\"in.jsonl\"", content)
                + "--b--\r\n");
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    return reply.json().path("id").asText();
  }

  /** A line of an input. */
  static String line(String id) {
    return "{\"custom_id\":\""
        + id
        + "\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",\"id\":\""
        + id
        + "\"}}\n";
  }

  /** Creates a batch for a file and returns its id. */
  String batch(String file, String more) throws Exception {
    Reply reply =
        post(
            "/v1/batches",
            "{\"input_file_id\":\""
                + file
                + "\",\"endpoint\":\"/v1/chat/completions\""
                + more
                + "}");
    assertThat(reply.status()).as(reply.text()).isEqualTo(200);
    assertThat(reply.json().path("status").asText()).isEqualTo("validating");
    return reply.json().path("id").asText();
  }

  /** The batch when it has a state. */
  JsonNode await(String batch, String status) throws Exception {
    long end = System.nanoTime() + 60_000_000_000L;
    JsonNode json;
    do {
      json = get("/v1/batches/" + batch).json();
      assertThat(System.nanoTime()).as(json.toString()).isLessThan(end);
      Thread.onSpinWait();
    } while (!json.path("status").asText().equals(status));
    return json;
  }

  String content(JsonNode id) throws Exception {
    return get("/v1/files/" + id.asText() + "/content").text();
  }

  @Override
  public void close() throws IOException {
    runner.stop();
    store.close();
  }
}
