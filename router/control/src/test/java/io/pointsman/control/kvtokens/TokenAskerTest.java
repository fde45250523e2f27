package io.pointsman.control.kvtokens;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.TokenSettings;
import io.pointsman.control.health.EngineClient.Answer;
import io.pointsman.control.kvtokens.TokenTally.Result;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.reader.Readers;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Queries for token ids of texts, and the use of the responses. */
@Timeout(120)
final class TokenAskerTest {
  private static final String MODEL = "m";
  private static final int IDS = 100;
  private static final Answer NO_ROUTE = new Answer(404, new byte[0]);

  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final KnownTexts texts = new KnownTexts(8 << 20, clock::nanos);
  private final Readers readers = new Readers(AffinitySettings.DEFAULT);
  private final List<String> asked = new CopyOnWriteArrayList<>();
  private final List<@Nullable String> keys = new CopyOnWriteArrayList<>();
  private final CountDownLatch hanging = new CountDownLatch(1);
  private volatile boolean useful = true;
  private volatile Engine engine = TokenAskerTest::rendering;
  private @Nullable TokenAsker running;

  /** The engine's response to a query. */
  @FunctionalInterface
  private interface Engine {
    Answer answer(String worker, String path) throws IOException;
  }

  /** Answers after a time, with other ids each time: equal ones would be a known beginning. */
  private Engine taking(Duration time) {
    return (name, path) -> {
      clock.advance(time);
      return json("{\"token_ids\":[" + asked.size() + "," + ids().substring(1) + "}");
    };
  }

  private static Answer rendering(String worker, String path) {
    return json("{\"token_ids\":" + ids() + ",\"features\":null}");
  }

  private static String ids() {
    return IntStream.range(0, IDS)
        .mapToObj(Integer::toString)
        .collect(Collectors.joining(",", "[", "]"));
  }

  private static Answer json(String text) {
    return new Answer(200, text.getBytes(UTF_8));
  }

  private final TokenTally tally = new TokenTally();

  private TokenAsker asker() {
    return asker(new TokenSettings(true, 0.01, 2, 4, Duration.ofSeconds(1), 8 << 20));
  }

  private TokenAsker asker(TokenSettings settings) {
    TokenAsker asker =
        new TokenAsker(
                settings,
                fleet,
                texts,
                () -> useful,
                (worker, path, body, authorization, timeout) -> {
                  keys.add(authorization);
                  asked.add(worker.id() + path);
                  return engine.answer(worker.id(), path);
                },
                readers,
                tally,
                clock::nanos)
            .start();
    running = asker;
    return asker;
  }

  @AfterEach
  void close() {
    hanging.countDown();
    if (running != null) {
      running.close();
    }
  }

  private Worker worker(String url) {
    Worker worker = fleet.add(WorkerSpec.of(url));
    worker.probed(true);
    fleet.learnModels(worker, Set.of(MODEL));
    return worker;
  }

  private RequestFacts facts(Endpoint endpoint, String body) {
    byte[] bytes = body.getBytes(UTF_8);
    return readers.read(endpoint, new ListedHeaders(Map.of()), bytes, 0, bytes.length, false);
  }

  private static String chat(String more, String... messages) {
    StringBuilder body = new StringBuilder("{\"model\":\"m\"," + more + "\"messages\":[");
    for (int i = 0; i < messages.length; i++) {
      String role = i == 0 ? "system" : i % 2 == 1 ? "user" : "assistant";
      body.append(i == 0 ? "" : ",");
      body.append("{\"role\":\"%s\",\"content\":\"%s\"}".formatted(role, messages[i]));
    }
    return body.append("]}").toString();
  }

  private RequestFacts send(TokenAsker asker, Worker worker, Endpoint endpoint, String body) {
    RequestFacts facts = facts(endpoint, body);
    if (asker.wants(facts)) {
      asker.sent(facts, worker, "Bearer client", body.getBytes(UTF_8));
    }
    return facts;
  }

  private RequestFacts sendChat(TokenAsker asker, Worker worker, String question) {
    return send(asker, worker, Endpoint.CHAT_COMPLETIONS, chat("", "Be brief.", question));
  }

  private void await(Result result, long count) {
    Await.until(
        () -> count + " " + result + ", not " + tally.of(result), () -> tally.of(result) >= count);
  }

  private int known(RequestFacts facts) {
    PrefixBlocks key = texts.of(facts.prefix());
    return key == null ? 0 : key.tokens();
  }

  @Test
  void workerWithTheRequestIsQueriedOncePerPrompt() {
    Worker worker = worker("http://a:1");
    worker("http://b:1");
    TokenAsker asker = asker();
    RequestFacts facts = sendChat(asker, worker, "One?");
    await(Result.LEARNED, 1);
    assertThat(known(facts)).isEqualTo(IDS);
    assertThat(asker.wants(facts)).isFalse();
    assertThat(asked).containsExactly("a:1/v1/chat/completions/render");
    assertThat(keys).containsExactly("Bearer client");
  }

  @Test
  void nextTurnFindsThePreviousTurn() {
    Worker worker = worker("http://a:1");
    TokenAsker asker = asker();
    sendChat(asker, worker, "One?");
    await(Result.LEARNED, 1);
    RequestFacts next =
        facts(
            Endpoint.CHAT_COMPLETIONS, chat("", "Be brief.", "One?", "Yes.", "Two? ".repeat(100)));
    PrefixBlocks key = Objects.requireNonNull(texts.of(next.prefix()));
    assertThat(key.count()).isEqualTo(IDS / 16);
    assertThat(asker.wants(next)).isTrue();
  }

  @Test
  void nothingIsQueriedWithoutKvEvents() {
    Worker worker = worker("http://a:1");
    useful = false;
    TokenAsker asker = asker();
    RequestFacts facts = facts(Endpoint.CHAT_COMPLETIONS, chat("", "Be brief.", "One?"));
    assertThat(asker.wants(facts)).isFalse();
    useful = true;
    clock.advance(Duration.ofSeconds(1));
    assertThat(asker.wants(facts)).isTrue();
    assertThat(asker.wants(facts(Endpoint.COMPLETIONS, "{\"prompt\":[1,2,3]}"))).isFalse();
    assertThat(asker.wants(facts(Endpoint.EMBEDDINGS, "{\"input\":\"a\"}"))).isFalse();
    assertThat(worker.left()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"cache_salt\":\"s\",",
        "\"extra_key\":\"s\",",
        "\"lora_name\":\"l\",",
        "\"reasoning_effort\":\"high\",",
        "\"truncate_prompt_tokens\":10,",
        "\"tool_choice\":\"none\",",
        "\"response_format\":{\"type\":\"json_object\"},"
      })
  void promptsThatDependOnMoreThanTheirKeyAreNotQueried(String member) {
    Worker worker = worker("http://a:1");
    TokenAsker asker = asker();
    send(asker, worker, Endpoint.CHAT_COMPLETIONS, chat(member, "Be brief.", "One?"));
    sendChat(asker, worker, "Last.");
    await(Result.LEARNED, 1);
    assertThat(asked).hasSize(1);
  }

  @Test
  void imagesAreNotSentToBeRendered() {
    Worker worker = worker("http://a:1");
    TokenAsker asker = asker();
    String image =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
            + "\"image_url\":{\"url\":\"data:x\"}}]}]}";
    send(asker, worker, Endpoint.CHAT_COMPLETIONS, image);
    sendChat(asker, worker, "Last.");
    await(Result.LEARNED, 1);
    assertThat(asked).hasSize(1);
  }

  @Test
  void engineWithoutRenderingTokenizesAndGetsNoFurtherRenderQueries() {
    Worker worker = worker("http://a:1");
    engine =
        (_, path) ->
            path.equals("/tokenize")
                ? json("{\"count\":%d,\"tokens\":%s}".formatted(IDS, ids()))
                : NO_ROUTE;
    TokenAsker asker = asker();
    RequestFacts first = sendChat(asker, worker, "One?");
    await(Result.LEARNED, 1);
    assertThat(known(first)).isEqualTo(IDS);
    sendChat(asker, worker, "Two?");
    await(Result.LEARNED, 2);
    assertThat(asked)
        .containsExactly("a:1/v1/chat/completions/render", "a:1/tokenize", "a:1/tokenize");
  }

  @Test
  void toolsAreOnlyRendered() {
    Worker worker = worker("http://a:1");
    engine = (_, _) -> NO_ROUTE;
    TokenAsker asker = asker();
    String tools = "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],";
    send(asker, worker, Endpoint.CHAT_COMPLETIONS, chat(tools, "Be brief.", "One?"));
    await(Result.NO_ENGINE, 1);
    assertThat(asked).containsExactly("a:1/v1/chat/completions/render");
  }

  @Test
  void wrongCountAndContentBesideTextAreUnusable() {
    Worker worker = worker("http://a:1");
    TokenAsker asker = asker();
    engine = (_, _) -> json("{\"token_ids\":[1,2],\"features\":{\"mm_hashes\":{}}}");
    sendChat(asker, worker, "One?");
    await(Result.UNUSABLE, 1);
    engine =
        (_, path) -> path.equals("/tokenize") ? json("{\"count\":3,\"tokens\":[1,2]}") : NO_ROUTE;
    sendChat(asker, worker, "Two?");
    await(Result.UNUSABLE, 2);
    engine = (_, _) -> json("{\"token_ids\":[1,\"two\"]");
    send(asker, worker, Endpoint.COMPLETIONS, "{\"model\":\"m\",\"prompt\":\"Three\"}");
    await(Result.UNUSABLE, 3);
    assertThat(texts.bytes()).isEqualTo(new KnownTexts(8 << 20, clock::nanos).bytes());
  }

  @Test
  void failingWorkerRestsAndAnotherIsQueried() {
    Worker broken = worker("http://a:1");
    worker("http://b:1");
    engine =
        (worker, path) -> {
          if (worker.equals("a:1")) {
            throw new IOException("no answer in time");
          }
          return rendering(worker, path);
        };
    TokenAsker asker = asker();
    sendChat(asker, broken, "One?");
    await(Result.FAILED, 1);
    sendChat(asker, broken, "Two?");
    await(Result.LEARNED, 1);
    engine = TokenAskerTest::rendering;
    clock.advance(Duration.ofMillis(1001));
    sendChat(asker, broken, "Three?");
    await(Result.LEARNED, 2);
    assertThat(asked.stream().map(each -> each.substring(0, 3)))
        .containsExactly("a:1", "b:1", "a:1");
  }

  @Test
  void restGrowsWithEachFailureUpToAMinute() {
    Worker broken = worker("http://a:1");
    engine = (_, _) -> new Answer(500, new byte[0]);
    TokenAsker asker = asker();
    for (int i = 0; i < 9; i++) {
      sendChat(asker, broken, "Question " + i);
      await(Result.FAILED, i + 1);
      long rest = Math.min(60, 1L << i);
      clock.advance(Duration.ofSeconds(rest).minusMillis(1));
      sendChat(asker, broken, "Too early " + i);
      await(Result.NO_ENGINE, i + 1);
      clock.advance(Duration.ofMillis(1));
    }
  }

  @Test
  void hangingEngineDelaysNoRequestAndExcessPromptsAreDropped() {
    Worker worker = worker("http://a:1");
    worker("http://b:1");
    engine =
        (name, path) -> {
          try {
            hanging.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          return rendering(name, path);
        };
    TokenAsker asker = asker();
    sendChat(asker, worker, "Question 0");
    sendChat(asker, worker, "Question 1");
    Await.until("two are asked for", () -> asked.size() == 2);
    for (int i = 2; i < 10; i++) {
      sendChat(asker, worker, "Question " + i);
    }
    assertThat(tally.of(Result.DROPPED)).isEqualTo(4);
    assertThat(asked).hasSize(2);
    hanging.countDown();
    await(Result.LEARNED, 6);
    sendChat(asker, worker, "A longer question. ".repeat(100));
    await(Result.LEARNED, 7);
  }

  @Test
  void queriesTakeAtMostTheirShareOfAWorkersTime() {
    Worker worker = worker("http://a:1");
    engine = taking(Duration.ofMillis(400));
    TokenAsker asker = asker();
    // One second of queries is free at the start: 1 % of 100 s. The third query takes more than is
    // left.
    for (int i = 1; i <= 3; i++) {
      sendChat(asker, worker, "Start " + i + "?");
      await(Result.LEARNED, i);
    }
    sendChat(asker, worker, "Four?");
    await(Result.LIMITED, 1);
    clock.advance(Duration.ofMillis(18_700));
    sendChat(asker, worker, "Five?");
    await(Result.LIMITED, 2);
    clock.advance(Duration.ofMillis(200));
    sendChat(asker, worker, "Six?");
    await(Result.LEARNED, 4);
    assertThat(asked).hasSize(4);
  }

  @Test
  void unusedShareIsKeptForALimitedTime() {
    Worker worker = worker("http://a:1");
    engine = taking(Duration.ofMillis(400));
    TokenAsker asker = asker();
    clock.advance(Duration.ofHours(10));
    for (int i = 1; i <= 3; i++) {
      sendChat(asker, worker, "Late " + i + "?");
      await(Result.LEARNED, i);
    }
    sendChat(asker, worker, "Four?");
    await(Result.LIMITED, 1);
  }

  @Test
  void otherWorkerIsQueriedWhileTheServingOneIsSpared() {
    Worker worker = worker("http://a:1");
    worker("http://b:1");
    engine = taking(Duration.ofMillis(1_500));
    TokenAsker asker = asker();
    sendChat(asker, worker, "One?");
    await(Result.LEARNED, 1);
    sendChat(asker, worker, "Two?");
    await(Result.LEARNED, 2);
    assertThat(asked.stream().map(each -> each.substring(0, 3))).containsExactly("a:1", "b:1");
  }

  @Test
  void mostlyKnownPromptIsNotQueried() {
    Worker worker = worker("http://a:1");
    TokenAsker asker = asker();
    String question = "word ".repeat(300);
    sendChat(asker, worker, question);
    await(Result.LEARNED, 1);
    assertThat(asker.wants(next(question, "Two?"))).isFalse();
    assertThat(asker.wants(next(question, question))).isTrue();
  }

  private RequestFacts next(String first, String second) {
    return facts(Endpoint.CHAT_COMPLETIONS, chat("", "Be brief.", first, "Yes.", second));
  }

  @Test
  void refusedPromptDoesNotMakeItsWorkerRest() {
    Worker worker = worker("http://a:1");
    engine = (_, _) -> new Answer(400, new byte[0]);
    TokenAsker asker = asker();
    sendChat(asker, worker, "One?");
    await(Result.REFUSED, 1);
    engine = TokenAskerTest::rendering;
    sendChat(asker, worker, "Two?");
    await(Result.LEARNED, 1);
  }

  @Test
  void promptsOfExternalProxiesAreQueriedAtAnyWorkerOfTheModel() {
    worker("http://a:1");
    TokenAsker asker = asker();
    String body = chat("", "Be brief.", "One?");
    RequestFacts facts = facts(Endpoint.CHAT_COMPLETIONS, body);
    asker.sent(facts, null, "Bearer a\r\nx: y", body.getBytes(UTF_8));
    await(Result.LEARNED, 1);
    assertThat(keys).containsOnlyNulls();
    String other = body.replace("\"m\"", "\"other\"");
    asker.sent(facts(Endpoint.CHAT_COMPLETIONS, other), null, null, other.getBytes(UTF_8));
    await(Result.NO_ENGINE, 1);
  }
}
