package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.stored.StoredSearches;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The Responses API: requests for a stored response go to the worker that has it. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class StoredResponseTest {
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  /** Creates one response and answers 404 for others. */
  private static EngineScript keeper(String id, boolean streams) {
    return (request, connection) -> {
      if (request.line().startsWith("POST /v1/responses HTTP")) {
        if (streams) {
          connection
              .beginEvents()
              .chunk("event: response.created\ndata: {\"type\":\"response.created\",")
              .chunk("\"response\":{\"id\":\"" + id + "\",\"object\":\"response\"}}\n\n")
              .lastChunk();
        } else {
          connection.reply(200, "application/json", "{\"id\":\"" + id + "\",\"output\":[]}");
        }
      } else {
        boolean known = request.line().contains("/" + id);
        connection.reply(known ? 200 : 404, "application/json", "{\"id\":\"" + id + "\"}");
      }
    };
  }

  private static String get(String id) {
    return "GET /v1/responses/" + id + " HTTP/1.1\r\nhost: r\r\n\r\n";
  }

  private void goesBackToTheWorkerThatMadeIt(boolean streams) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", streams));
        ScriptedEngine two = ScriptedEngine.start(keeper("resp_2", streams))) {
      rig.worker(one.url()).drain(true);
      rig.worker(two.url());
      assertThat(rig.ask(ProxyRig.post("/v1/responses", BODY)).text()).contains("resp_2");
      rig.fleet().snapshot().workers().getFirst().drain(false);

      assertThat(rig.ask(get("resp_2")).header("x-pointsman-worker")).isEqualTo(two.id());
      assertThat(
              rig.ask(ProxyRig.post("/v1/responses/resp_2/cancel", ""))
                  .header("x-pointsman-worker"))
          .isEqualTo(two.id());
      WireResponse next =
          rig.ask(
              ProxyRig.post(
                  "/v1/responses", "{\"model\":\"m\",\"previous_response_id\":\"resp_2\"}"));
      assertThat(next.header("x-pointsman-worker")).isEqualTo(two.id());
      assertThat(one.requests()).isEmpty();
    }
  }

  @Test
  void responseIsFoundAfterAnAnswerInOnePiece() throws Exception {
    goesBackToTheWorkerThatMadeIt(false);
  }

  @Test
  void responseIsFoundAfterAStream() throws Exception {
    goesBackToTheWorkerThatMadeIt(true);
  }

  /** The stream of a response goes on after its client has left, and shows its end before. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aResponseInTheBackgroundEndsWithItsStream(boolean complete) throws Exception {
    AtomicReference<Worker> worker = new AtomicReference<>();
    EngineScript script =
        (_, connection) -> {
          connection
              .beginEvents()
              .chunk("data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n");
          ProxyRig.await("known", () -> worker.get().background().has("resp_1"));
          if (complete) {
            connection.chunk("data: {\"type\":\"response.completed\"}\n\n").lastChunk();
          } else {
            connection.reset();
          }
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(script)) {
      worker.set(rig.worker(one.url()));
      String body = "{\"model\":\"m\",\"background\":true,\"stream\":true}";
      try (WireClient client = rig.connect()) {
        client.send(ProxyRig.post("/v1/responses", body));
        ProxyRig.await("the end", () -> worker.get().served() + worker.get().failures() == 1);
      }
      assertThat(worker.get().background().has("resp_1")).isEqualTo(!complete);
    }
  }

  /** Its end shows only in a request for it, or never. */
  @ParameterizedTest
  @ValueSource(strings = {"cancel", "delete"})
  void aResponseInTheBackgroundIsKnownUntilAClientEndsIt(String end) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", false))) {
      Worker worker = rig.worker(one.url());
      assertThat(rig.ask(ProxyRig.post("/v1/responses", BODY)).status()).isEqualTo(200);
      assertThat(worker.background().ids()).isEmpty();

      String body = "{\"model\":\"m\",\"background\":true}";
      assertThat(rig.ask(ProxyRig.post("/v1/responses", body)).status()).isEqualTo(200);
      assertThat(worker.background().ids()).containsExactly("resp_1");
      assertThat(rig.ask(get("resp_1")).status()).isEqualTo(200);
      assertThat(worker.background().ids()).containsExactly("resp_1");

      String last =
          end.equals("cancel")
              ? ProxyRig.post("/v1/responses/resp_1/cancel", "")
              : get("resp_1").replace("GET", "DELETE");
      assertThat(rig.ask(last).status()).isEqualTo(200);
      assertThat(worker.background().ids()).isEmpty();
    }
  }

  /** Some engines read each other's addresses from the id. */
  @Test
  void anIdMayContainAddresses() throws Exception {
    String id =
        "resp____prefill_addr_10.2.0.11:21001___decode_addr_10.2.0.21:22001_"
            + "3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c-0";
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", false));
        ScriptedEngine two = ScriptedEngine.start(keeper(id, false))) {
      rig.worker(one.url()).drain(true);
      rig.worker(two.url());
      assertThat(rig.ask(ProxyRig.post("/v1/responses", BODY)).text()).contains(id);
      rig.fleet().snapshot().workers().getFirst().drain(false);

      assertThat(rig.ask(get(id)).status()).isEqualTo(200);
      assertThat(one.requests()).isEmpty();
    }
  }

  /** The worker cut an answer that no client received, after a part of it had arrived. */
  @Test
  void responseIsFoundAfterAnotherWorkerFailedToCreateOne() throws Exception {
    EngineScript breaking =
        (request, connection) -> {
          if (request.line().startsWith("POST ")) {
            connection.send(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{\"id\":\"resp_1\"}\r\n");
          } else {
            connection.reply(404, "application/json", "{}");
          }
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(breaking);
        ScriptedEngine two = ScriptedEngine.start(keeper("resp_2", false))) {
      rig.worker(one.url());
      rig.worker(two.url());
      assertThat(rig.ask(ProxyRig.post("/v1/responses", BODY)).text()).contains("resp_2");

      assertThat(rig.ask(get("resp_2")).status()).isEqualTo(200);
      assertThat(one.requests()).hasSize(1);
    }
  }

  @Test
  void unknownIdIsSearchedOnOneWorkerAfterAnother() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", false));
        ScriptedEngine two = ScriptedEngine.start(keeper("resp_2", false));
        ScriptedEngine three = ScriptedEngine.start(keeper("resp_3", false))) {
      rig.worker(one.url());
      rig.worker(two.url());
      rig.worker(three.url());

      assertThat(rig.ask(get("resp_3")).status()).isEqualTo(200);
      assertThat(rig.ask(get("resp_3")).status()).isEqualTo(200);
      assertThat(one.requests()).hasSize(1);
      assertThat(three.requests()).hasSize(2);
      assertThat(rig.ask(get("resp_9")).status()).isEqualTo(404);
      assertThat(two.requests()).hasSize(2);
    }
  }

  /** An id with the addresses of two engines, followed by another "id". */
  @Test
  void longIdsWithAddressesAreLearned() throws Exception {
    String id =
        "resp____prefill_addr_10.2.0.11:21001___decode_addr_10.2.0.12:22001_" + "e".repeat(100);
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine other = ScriptedEngine.start(keeper("resp_1", false));
        ScriptedEngine maker =
            ScriptedEngine.start(keeper(id + "\",\"output\":[{\"id\":\"msg_1", false))) {
      rig.worker(other.url()).drain(true);
      rig.worker(maker.url());
      assertThat(rig.ask(ProxyRig.post("/v1/responses", BODY)).text()).contains(id);
      rig.fleet().snapshot().workers().getFirst().drain(false);

      rig.ask(get(id));
      rig.ask(get(id.replace(":", "%3A")));
      assertThat(maker.requests()).hasSize(3);
      assertThat(other.requests()).isEmpty();
      rig.ask(get("msg_1"));
      assertThat(other.requests()).as("not learned, so looked for").hasSize(1);
    }
  }

  @Test
  void ranksOfOneServerAreTriedOnce() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", false))) {
      for (int rank = 0; rank < 8; rank++) {
        rig.worker(WorkerSpec.of(one.url()).withModels(Set.of("m")).atRank(rank));
      }
      assertThat(rig.ask(get("resp_9")).status()).isEqualTo(404);
      assertThat(one.requests()).hasSize(1);
    }
  }

  /** At most 64 workers are tried, so it is unknown if the 65th has the response. */
  @ParameterizedTest
  @CsvSource({"64, 404", "65, 503"})
  void aResponseThatWasNotSearchedEverywhereIsNot404(int workers, int status) throws Exception {
    List<ScriptedEngine> engines = new ArrayList<>();
    try (ProxyRig rig = new ProxyRig(transport)) {
      for (int i = 0; i < workers; i++) {
        engines.add(ScriptedEngine.start(keeper("resp_1", false)));
        rig.worker(engines.getLast().url());
      }
      assertThat(rig.ask(get("resp_9")).status()).isEqualTo(status);
      assertThat(engines.stream().mapToInt(each -> each.requests().size()).sum()).isEqualTo(64);
    } finally {
      for (ScriptedEngine each : engines) {
        each.close();
      }
    }
  }

  @Test
  void anIdThatNoWorkerHasIsSearchedOnceInAWhile() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", false));
        ScriptedEngine two = ScriptedEngine.start(keeper("resp_2", false))) {
      rig.worker(one.url());
      rig.worker(two.url());
      for (int i = 0; i < 20; i++) {
        assertThat(rig.ask(get("resp_9")).status()).isEqualTo(404);
        assertThat(rig.ask(ProxyRig.post("/v1/responses/resp_9/cancel", "")).status())
            .isEqualTo(404);
      }
      assertThat(rig.ask(get("resp_9")).text()).contains("\"code\":\"response_not_found\"");
      assertThat(one.requests()).hasSize(1);
      assertThat(two.requests()).hasSize(1);

      clock.advance(StoredSearches.MEMORY.plusMillis(1));
      assertThat(rig.ask(get("resp_9")).status()).isEqualTo(404);
      assertThat(two.requests()).hasSize(2);
      assertThat(rig.ask(get("resp_2")).status()).as("another id").isEqualTo(200);
    }
  }

  @Test
  void randomIdsAreNotMultiplied() throws Exception {
    FakeClock clock = new FakeClock();
    ClientLimits few = new ClientLimits(0, 1, 0, Duration.ofSeconds(1), Duration.ofSeconds(2), 5);
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withClients(few));
    try (ProxyRig rig = new ProxyRig(transport, settings, clock);
        ScriptedEngine one = ScriptedEngine.start(keeper("resp_1", false));
        ScriptedEngine two = ScriptedEngine.start(keeper("resp_2", false))) {
      rig.worker(one.url());
      rig.worker(two.url());
      List<Integer> statuses = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        WireResponse answer = rig.ask(get("resp_random" + i));
        statuses.add(answer.status());
        if (answer.status() == 503) {
          assertThat(answer.header("retry-after")).isEqualTo("1");
        }
      }
      assertThat(statuses.subList(0, 5)).containsOnly(404);
      assertThat(statuses.subList(5, 20)).containsOnly(503);
      assertThat(one.requests().size() + two.requests().size()).isEqualTo(10);

      clock.advance(Duration.ofSeconds(1));
      assertThat(rig.ask(get("resp_2")).status()).isEqualTo(200);
    }
  }
}
