package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineConnection;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The tests of production-stack's router, over HTTP and through its command line. */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
@Tag("full")
@Timeout(180)
class ProductionStackReferenceTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHAT = "/v1/chat/completions";
  private static final Pattern LINE =
      Pattern.compile(
          "Routing request ([^ ]*) with session id ([^ ]*) to ([^ ]*) at ([0-9.]+), "
              + "process time = ([0-9.]+)");

  /** Each engine answers with its name; some bodies make it fail. */
  private static final Faults.Answer ANSWER =
      new Faults.Answer(200, "{\"object\":\"chat.completion\",\"choices\":[]}");

  private final List<ScriptedEngine> engines = new ArrayList<>();

  @BeforeEach
  void start() throws IOException {
    for (int i = 0; i < 2; i++) {
      engines.add(ScriptedEngine.start(new Faults.Healthy("m", this::answer)));
    }
  }

  @AfterEach
  void stop() throws Exception {
    for (ScriptedEngine engine : engines) {
      engine.close();
    }
  }

  private void answer(EngineRequest request, EngineConnection connection)
      throws IOException, InterruptedException {
    String body = request.bodyText();
    if (body.contains("\"fail\"")) {
      connection.reply(422, "application/json", "{\"detail\":\"own\"}");
    } else if (body.contains("\"stream\":true")) {
      connection.beginEvents().chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n");
      if (body.contains("\"wait\"")) {
        connection.awaitPeerGone();
        return;
      }
      connection.chunk("data: [DONE]\n\n").lastChunk();
    } else if (request.line().contains("/v1/audio/speech")) {
      connection.reply(200, "audio/mpeg", "\u0000\u0001sound");
    } else {
      ANSWER.answer(request, connection);
    }
  }

  private RouterProcess launch(String... more) throws IOException {
    String urls = engines.get(0).url() + "," + engines.get(1).url();
    List<String> flags =
        new ArrayList<>(List.of("--service-discovery", "static", "--static-backends", urls));
    flags.addAll(List.of(more));
    if (!flags.contains("--static-models")) {
      flags.addAll(List.of("--static-models", "m,m"));
    }
    if (!flags.contains("--routing-logic")) {
      flags.addAll(List.of("--routing-logic", "roundrobin"));
    }
    return RouterProcess.startAs("production-stack", flags.toArray(String[]::new));
  }

  private static HttpAnswer post(RouterProcess router, String target, String body, String... lines)
      throws IOException {
    try (RawClient client = RawClient.connect(router.port())) {
      return client
          .send("POST", target, body.getBytes(StandardCharsets.UTF_8), List.of(lines))
          .read();
    }
  }

  private static HttpAnswer get(RouterProcess router, String target) throws IOException {
    return RawClient.call(router.port(), "GET", target, "");
  }

  private static String chat(String text, String more) {
    return "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\""
        + text
        + "\"}]"
        + more
        + "}";
  }

  /** Number of requests that the router placed on an engine. */
  private static int served(ScriptedEngine engine) {
    return (int) engine.requests().stream().filter(each -> each.line().startsWith("POST ")).count();
  }

  /** The engine that got a request beside its earlier ones. */
  private int engineOf(RouterProcess router, String body, String... lines) throws IOException {
    int before = served(engines.get(0));
    assertThat(post(router, CHAT, body, lines).status()).isEqualTo(200);
    return served(engines.get(0)) > before ? 0 : 1;
  }

  private EngineRequest last() {
    List<EngineRequest> all = new ArrayList<>();
    engines.forEach(engine -> all.addAll(engine.requests()));
    all.removeIf(each -> !each.line().startsWith("POST "));
    assertThat(all).hasSize(1);
    engines.forEach(ScriptedEngine::forget);
    return all.getFirst();
  }

  /** Starts the router with a prefill and a decode engine and a threshold of 5. */
  private RouterProcess launchSplit(String logic) throws IOException {
    return launch(
        "--static-model-labels",
        "prefill,decode",
        "--prefill-model-labels",
        "prefill",
        "--decode-model-labels",
        "decode",
        "--routing-logic",
        logic,
        "--routing-threshold",
        "5");
  }

  private void asked(RouterProcess router, String prompt, int prefills) throws IOException {
    engines.forEach(ScriptedEngine::forget);
    String body = "{\"model\":\"m\",\"prompt\":" + prompt + "}";
    assertThat(post(router, "/v1/completions", body).status()).isEqualTo(200);
    assertThat(served(engines.get(0))).as("prefill of " + prompt).isEqualTo(prefills);
    assertThat(served(engines.get(1))).as("decode of " + prompt).isEqualTo(1);
  }

  @Test
  void listsReachTheThresholdByTheirLength() throws Exception {
    try (RouterProcess router = launchSplit("disaggregated_prefill")) {
      asked(router, "[\"a\",\"b\",\"c\",\"d\",\"e\"]", 1);
      asked(router, "[\"a\",\"b\",\"c\",\"d\"]", 0);
      asked(router, "[[1],[2],[3],[4],[5]]", 1);
      asked(router, "[[1,2,3,4,5,6,7,8]]", 0);
      asked(router, "[1,2,3,4,5]", 1);
      asked(router, "[\"a text of more than twenty characters\"]", 0);
      asked(router, "\"a text of more than twenty characters\"", 1);
    }
    try (RouterProcess router = launchSplit("disaggregated_prefill_orchestrated")) {
      asked(router, "[1,2,3,4,5]", 1);
      asked(router, "[1,2,3,4]", 0);
      asked(router, "[\"a\",\"b\",\"c\",\"d\",\"e\"]", 0);
    }
  }

  @Test
  void informationIsThatOfTheStack() throws Exception {
    try (RouterProcess router = launch("--static-models", "m,n")) {
      assertThat(JSON.readTree(get(router, "/health").text()).path("status").asText())
          .isEqualTo("healthy");
      assertThat(JSON.readTree(get(router, "/version").text()).path("version").asText())
          .isNotEmpty();
      JsonNode models = JSON.readTree(get(router, "/v1/models").text());
      assertThat(models.path("object").asText()).isEqualTo("list");
      assertThat(models.path("data").findValuesAsText("id")).contains("m", "n");
      JsonNode listed = JSON.readTree(get(router, "/engines").text());
      assertThat(listed).hasSize(2);
      for (JsonNode engine : listed) {
        assertThat(engine.path("engine_id").asText()).isNotEmpty();
        assertThat(engine.path("serving_models")).hasSize(1);
        assertThat(engine.path("created").asLong()).isPositive();
      }
      String metrics = get(router, "/metrics").text();
      assertThat(metrics)
          .contains("vllm:healthy_pods_total{server=\"" + engines.get(0).url() + "\"} 1")
          .contains("vllm:num_requests_running{server=\"");
      post(router, CHAT, chat("a", ""));
      WaitFor.until("the request is counted", WaitFor.LONG, () -> counted(router));
    }
  }

  private static boolean counted(RouterProcess router) {
    try {
      return get(router, "/metrics")
          .text()
          .contains("vllm:num_incoming_requests_total{model=\"m\"} 1");
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void wrongRequestsHaveTheStatusesOfTheStack() throws Exception {
    try (RouterProcess router = launch("--static-models", "m,n")) {
      assertThat(post(router, CHAT, "{\"model\":").status()).isEqualTo(400);
      assertThat(post(router, CHAT, "[1]").status()).isEqualTo(400);
      assertThat(post(router, CHAT, "{\"messages\":[]}").status()).isEqualTo(400);
      assertThat(post(router, CHAT, "{\"model\":[\"m\"]}").status()).isEqualTo(400);
      HttpAnswer unknown = post(router, CHAT, "{\"model\":\"x\"}");
      assertThat(unknown.status()).isEqualTo(404);
      assertThat(unknown.text()).contains("x");
      assertThat(post(router, CHAT + "?id=unknown", chat("a", "")).status()).isEqualTo(503);
      assertThat(RawClient.call(router.port(), "GET", CHAT, "").status()).isIn(404, 405, 200);
      HttpAnswer own = post(router, CHAT, chat("a", ",\"user\":\"fail\""));
      assertThat(own.status()).isEqualTo(422);
      assertThat(own.text()).isEqualTo("{\"detail\":\"own\"}");
    }
  }

  @Test
  void roundRobinTakesEnginesInTurn() throws Exception {
    try (RouterProcess router = launch()) {
      int before = engineOf(router, chat("a", ""));
      for (int i = 0; i < 9; i++) {
        int next = engineOf(router, chat("a", ""));
        assertThat(next).isNotEqualTo(before);
        before = next;
      }
    }
  }

  @Test
  void aSessionStaysOnItsEngineByHeaderOrBody() throws Exception {
    try (RouterProcess router =
        launch("--routing-logic", "session", "--session-key", "x-user-id")) {
      Set<Integer> used = new TreeSet<>();
      for (int session = 0; session < 16; session++) {
        Set<Integer> of = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
          of.add(engineOf(router, chat("t" + i, ""), "X-User-Id: user-" + session));
        }
        of.add(engineOf(router, chat("t", ",\"x-user-id\":\"user-" + session + "\"")));
        assertThat(of).hasSize(1);
        used.addAll(of);
      }
      assertThat(used).hasSize(2);
      int withoutOne = engineOf(router, chat("t", ""));
      assertThat(withoutOne).isBetween(0, 1);
    }
  }

  @Test
  void nestedPrefixesStayOnOneEngine() throws Exception {
    try (RouterProcess router = launch("--routing-logic", "prefixaware")) {
      Set<Integer> used = new TreeSet<>();
      for (String symbol : List.of("a", "b", "c", "d", "e", "f")) {
        Set<Integer> of = new TreeSet<>();
        for (int chunks = 1; chunks <= 3; chunks++) {
          for (int i = 0; i < 5; i++) {
            of.add(engineOf(router, chat(symbol.repeat(128 * chunks), "")));
          }
        }
        assertThat(of).as(symbol).hasSize(1);
        used.addAll(of);
      }
      assertThat(used).hasSize(2);
    }
  }

  @Test
  void eachChoiceHasTheLineThatScriptsRead() throws Exception {
    try (RouterProcess router =
        launch("--routing-logic", "session", "--session-key", "x-user-id")) {
      post(router, CHAT, chat("a", ""), "X-Request-Id: one", "x-user-id: u1");
      post(router, CHAT, chat("a", ""), "X-Request-Id: two");
      router.awaitOutput("Routing request two");
      List<String> found = new ArrayList<>();
      Matcher lines = LINE.matcher(router.output());
      while (lines.find()) {
        found.add(lines.group(1) + " " + lines.group(2));
        assertThat(List.of(engines.get(0).url(), engines.get(1).url())).contains(lines.group(3));
        assertThat(Double.parseDouble(lines.group(4))).isGreaterThan(1e9);
      }
      assertThat(found).containsExactly("one u1", "two None");
    }
  }

  @Test
  void headersAndIdsPassAsThere() throws Exception {
    try (RouterProcess router = launch()) {
      HttpAnswer answer =
          post(
              router,
              CHAT,
              chat("a", ""),
              "Authorization: Bearer client",
              "X-Request-Id: mine",
              "X-Own: kept");
      assertThat(answer.header("x-request-id")).isEqualTo("mine");
      EngineRequest sent = last();
      assertThat(sent.header("authorization")).isEqualTo("Bearer client");
      assertThat(sent.values("x-request-id")).containsExactly("mine");
      assertThat(sent.header("x-own")).isEqualTo("kept");
      assertThat(post(router, CHAT, chat("a", "")).header("x-request-id")).isNotEmpty();
      assertThat(last().header("x-request-id")).isNotEmpty();
    }
  }

  @Test
  void anAliasIsRenamedAndAnIdChoosesTheEngine() throws Exception {
    try (RouterProcess router = launch("--static-aliases", "gpt-4:m")) {
      assertThat(post(router, CHAT, chat("é", "").replace("\"m\"", "\"gpt-4\"")).status())
          .isEqualTo(200);
      assertThat(last().bodyText()).isEqualTo(chat("é", ""));
      assertThat(get(router, "/v1/models").text()).contains("\"gpt-4\"");
      JsonNode listed = JSON.readTree(get(router, "/engines").text());
      Set<Integer> used = new TreeSet<>();
      for (JsonNode each : listed) {
        Set<Integer> of = new TreeSet<>();
        for (int i = 0; i < 3; i++) {
          int before = served(engines.get(0));
          String target = CHAT + "?id=" + each.path("engine_id").asText();
          assertThat(post(router, target, chat("a", "")).status()).isEqualTo(200);
          of.add(served(engines.get(0)) > before ? 0 : 1);
        }
        assertThat(of).hasSize(1);
        used.addAll(of);
      }
      assertThat(used).hasSize(2);
    }
  }

  @Test
  void everyEndpointReachesAnEngineUnchanged() throws Exception {
    try (RouterProcess router = launch()) {
      for (String path :
          List.of(
              "/v1/chat/completions",
              "/v1/completions",
              "/v1/embeddings",
              "/v1/responses",
              "/v1/messages",
              "/tokenize",
              "/detokenize",
              "/v1/rerank",
              "/rerank",
              "/v1/score",
              "/score",
              "/v1/images/generations")) {
        String body = "{ \"model\": \"m\",\"input\":\"é\\u00e9\" , \"x\":[1.0,2e3]}";
        assertThat(post(router, path, body).status()).as(path).isEqualTo(200);
        EngineRequest sent = last();
        assertThat(sent.line()).isEqualTo("POST " + path + " HTTP/1.1");
        assertThat(sent.bodyText()).isEqualTo(body);
      }
      HttpAnswer speech = post(router, "/v1/audio/speech", "{\"model\":\"m\",\"input\":\"a\"}");
      assertThat(speech.header("content-type")).isEqualTo("audio/mpeg");
      assertThat(speech.text()).isEqualTo("\u0000\u0001sound");
    }
  }

  @Test
  void formsReachAnEngineWithTheirBoundary() throws Exception {
    try (RouterProcess router = launch()) {
      String form =
          "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n"
              + "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"
              + "RIFF\r\n--b--\r\n";
      for (String path : List.of("/v1/audio/transcriptions", "/v1/images/edits")) {
        try (RawClient client = RawClient.connect(router.port())) {
          String head =
              "POST "
                  + path
                  + " HTTP/1.1\r\nhost: r\r\ncontent-type: multipart/form-data; boundary=b\r\n"
                  + "content-length: "
                  + form.length()
                  + "\r\n\r\n";
          client.send((head + form).getBytes(StandardCharsets.US_ASCII));
          assertThat(client.read().status()).isEqualTo(200);
        }
        EngineRequest sent = last();
        assertThat(sent.bodyText()).isEqualTo(form);
        assertThat(sent.header("content-type")).isEqualTo("multipart/form-data; boundary=b");
      }
    }
  }

  @Test
  void aStreamPassesAndAClientThatLeavesCancelsTheEngine() throws Exception {
    try (RouterProcess router = launch()) {
      HttpAnswer whole = post(router, CHAT, chat("a", ",\"stream\":true"));
      assertThat(whole.header("content-type")).startsWith("text/event-stream");
      assertThat(whole.text()).endsWith("data: [DONE]\n\n");
      engines.forEach(ScriptedEngine::forget);
      try (RawClient client = RawClient.connect(router.port())) {
        client.send("POST", CHAT, chat("wait", ",\"stream\":true,\"user\":\"wait\""));
        client.readHead();
        WaitFor.until(
            "the engine has it",
            WaitFor.LONG,
            () -> served(engines.get(0)) + served(engines.get(1)) == 1);
        client.leave();
      }
      ScriptedEngine asked = engines.get(served(engines.get(0)) == 1 ? 0 : 1);
      assertThat(asked.awaitDeparture()).isTrue();
    }
  }

  @Test
  void aDeadEngineIsReplacedWithinTheAttempts() throws Exception {
    try (RouterProcess router = launch("--max-instance-failover-reroute-attempts", "1")) {
      engines.get(0).stopListening();
      engines.get(0).closeConnections();
      for (int i = 0; i < 4; i++) {
        assertThat(post(router, CHAT, chat("a", "")).status()).isEqualTo(200);
      }
      engines.get(1).stopListening();
      engines.get(1).closeConnections();
      WaitFor.until(
          "the model has no engine",
          WaitFor.LONG,
          () -> {
            try {
              return post(router, CHAT, chat("a", "")).status() == 503;
            } catch (IOException e) {
              return false;
            }
          });
      assertThat(get(router, "/health").status()).isEqualTo(200);
    }
  }
}
