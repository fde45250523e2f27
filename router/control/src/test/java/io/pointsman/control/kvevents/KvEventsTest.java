package io.pointsman.control.kvevents;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.control.kvevents.KvEventTally.Count;
import io.pointsman.engine.fleet.FormerWorker;
import io.pointsman.engine.fleet.LeaseKind;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/** Publishers of simulated engines, found by queries, over sockets. */
@Timeout(240)
class KvEventsTest {
  private static final int BLOCK = 4;

  @TempDir private Path directory;
  private int dumps;

  private static SimConfig config(EventOptions options) {
    return SimConfig.instant().withModels("m", "polite").withKvMemory(8, BLOCK).withEvents(options);
  }

  private static void ask(SimEngine engine, String model, String tokens, String more)
      throws IOException, InterruptedException {
    String body =
        "{\"model\":\"" + model + "\",\"max_tokens\":1,\"prompt\":[" + tokens + "]" + more + "}";
    HttpResponse<String> answer =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(engine.url() + "/v1/completions"))
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  private static void post(SimEngine engine, String path, String body)
      throws IOException, InterruptedException {
    HttpResponse<String> answer =
        HttpClient.newHttpClient()
            .send(
                HttpRequest.newBuilder(URI.create(engine.url() + path))
                    .POST(HttpRequest.BodyPublishers.ofString(body))
                    .build(),
                HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
  }

  /** Adds the engine as a worker, and waits until two blocks of it are known. */
  private static Worker withTwoBlocks(Listening listening, SimEngine engine) throws Exception {
    Worker worker = listening.add(engine.url(), Map.of());
    listening.awaitLive(worker, engine.events());
    ask(engine, "m", "1,2,3,4,5,6,7,8,9", "");
    Await.until("two blocks", () -> listening.feed.blocks(worker, 0).size() == 2);
    return worker;
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void theCacheOfAnEngineIsFollowedInAllFormats(EventFormat format) throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(format)));
        Listening listening = Listening.byAsking()) {
      Worker worker = withTwoBlocks(listening, engine);
      List<KvEvent.Stored> stored = listening.feed.stored();
      assertThat(stored).allMatch(KvEvent.Stored::plain).allMatch(one -> one.blockSize() == BLOCK);
      assertThat(stored.stream().flatMapToInt(one -> Arrays.stream(one.tokens())))
          .containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
      assertThat(stored.getFirst().parent()).isNull();

      ask(engine, "m", "1,2,3,4,5,6,7,8,10,11,12,13,14", "");
      Await.until("a third block", () -> listening.feed.blocks(worker, 0).size() == 3);
      KvEvent.Stored third = listening.feed.stored().getLast();
      assertThat(third.tokens()).containsExactly(10, 11, 12, 13);
      long[] before = stored.getLast().blocks();
      assertThat(third.parent()).isEqualTo(before[before.length - 1]);

      post(engine, "/reset_prefix_cache", "");
      ask(engine, "m", "1", ""); // the reset is published with the next step
      Await.until("nothing left", () -> listening.feed.blocks(worker, 0).isEmpty());
      assertThat(listening.feed.cleared()).isEqualTo(1);
      assertThat(listening.tally.of(Count.MALFORMED)).isZero();
    }
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void evictedBlocksAreRemoved(EventFormat format) throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(format)));
        Listening listening = Listening.byAsking()) {
      Worker worker = listening.add(engine.url(), Map.of());
      for (int i = 0; i < 20; i++) {
        int first = 100 * i;
        ask(engine, "m", first + ",1,2,3,4,5,6,7,8", "");
      }
      listening.awaitStored(worker, 0, engine);
      assertThat(listening.tally.of(Count.REMOVED)).isPositive();
    }
  }

  @ParameterizedTest
  @EnumSource(EventFormat.class)
  void adaptersAndSaltsAreReported(EventFormat format) throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(format)));
        Listening listening = Listening.byAsking()) {
      Worker worker = listening.add(engine.url(), Map.of());
      listening.awaitLive(worker, engine.events());
      ask(engine, "m", "1,2,3,4,5", ",\"cache_salt\":\"s\"");
      Await.until("a block", () -> listening.feed.blocks(worker, 0).size() == 1);
      assertThat(listening.feed.stored().getFirst().plain()).isFalse();
      if (format != EventFormat.SGLANG) {
        ask(engine, "polite", "1,2,3,4,5", "");
        Await.until("another", () -> listening.feed.blocks(worker, 0).size() == 2);
        assertThat(listening.feed.stored().getLast())
            .returns("polite", KvEvent.Stored::adapter)
            .returns(true, KvEvent.Stored::plain);
      }
    }
  }

  @Test
  void aRestartedEngineIsFollowedFromItsNewStart() throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byAsking()) {
      Worker worker = withTwoBlocks(listening, engine);

      engine.stop();
      Await.until("not complete", () -> !listening.feed.live(worker, 0));
      engine.restart();
      listening.awaitLive(worker, engine.events());
      ask(engine, "m", "21,22,23,24,25", "");
      Await.until("one block", () -> listening.feed.blocks(worker, 0).size() == 1);
    }
  }

  @Test
  void aBusyWorkerThatComesBackIsFollowedAgain() throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byAsking()) {
      Worker worker = withTwoBlocks(listening, engine);
      assertThat(worker.tryLease(0, LeaseKind.WHOLE, 0, 0, (_, _) -> {})).isNotNull();
      List<FormerWorker> gone = new ArrayList<>();
      listening.fleet.replace(List.of(worker), List.of(), gone);
      listening.fleet.restore(List.of(), gone);
      assertThat(listening.fleet.snapshot().workers()).containsExactly(worker);

      Await.until("the old source ends", () -> listening.tally.of(Count.RESETS_GONE) == 1);
      listening.awaitLive(worker, engine.events());
      ask(engine, "m", "21,22,23,24,25", "");
      Await.until("a block", () -> !listening.feed.blocks(worker, 0).isEmpty());
    }
  }

  @Test
  void aRestartOfOnlyThePublisherIsDetected() throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM_MAP)));
        Listening listening = Listening.byAsking()) {
      Worker worker = withTwoBlocks(listening, engine);
      post(engine, "/sim/kv-events", "{\"restart\":true}");
      Await.until("nothing left", () -> listening.feed.blocks(worker, 0).isEmpty());
      listening.awaitLive(worker);
    }
  }

  @Test
  void eachRankOfAnEngineIsASource() throws Exception {
    EventOptions options = EventOptions.of(EventFormat.VLLM);
    try (SimEngine zero = SimEngine.start(config(options));
        SimEngine one = SimEngine.start(config(options.withRank(1)));
        Listening listening = Listening.byLabels()) {
      Map<String, String> labels =
          Map.of(
              KvEventSettings.EVENTS_LABEL,
              "tcp://*:" + zero.events().port() + " tcp://*:" + one.events().port(),
              KvEventSettings.REPLAY_LABEL,
              "tcp://*:" + zero.events().replayPort() + " tcp://*:" + one.events().replayPort());
      Worker whole = listening.add("http://127.0.0.1:1", labels);
      Worker second =
          listening.fleet.add(WorkerSpec.of("http://127.0.0.1:2").withLabels(labels).atRank(1));
      second.probed(true);
      Await.until("all", () -> listening.feed.live(whole, 1) && listening.feed.live(second, 1));
      for (int i = 0; i < 20; i++) {
        ask(zero, "m", i + ",2,3,4,5", "");
        ask(one, "m", i + ",2,3,4,5,6,7,8,9", "");
      }
      listening.awaitStored(whole, 0, zero);
      listening.awaitStored(whole, 1, one);
      listening.awaitStored(second, 1, one);
      assertThat(listening.feed.blocks(second, 0)).isEmpty();
      assertThat(listening.feed.overlapped()).isFalse();
      assertThat(listening.tally.of(Count.WRONG_RANK)).isZero();
    }
  }

  @Test
  void unreachableRanksAreReportedUntilTheyAreNotFollowed() throws IOException {
    try (ServerSocket mute = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byLabels()) {
      String nobody = " tcp://*:" + mute.getLocalPort();
      Map<String, String> labels =
          Map.of(
              KvEventSettings.EVENTS_LABEL,
              "tcp://*:" + engine.events().port() + nobody,
              KvEventSettings.REPLAY_LABEL,
              "tcp://*:" + engine.events().replayPort() + nobody);
      Worker worker = listening.add("http://127.0.0.1:1", labels);
      listening.awaitLive(worker);

      assertThat(listening.feed.subscribed(worker, 1)).isTrue();
      assertThat(listening.feed.live(worker, 1)).isFalse();
      listening.fleet.remove(worker.id());
      Await.until("followed no more", () -> !listening.feed.subscribed(worker, 1));
    }
  }

  /** The address belongs to a subscriber, as vLLM intends for an endpoint without a wildcard. */
  @Test
  void thePublisherOfAnEngineThatConnectsIsNamedInTheLog() throws IOException {
    Logger logger = (Logger) LoggerFactory.getLogger(KvSource.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.list = new CopyOnWriteArrayList<>();
    logged.start();
    logger.addAppender(logged);
    int port;
    try (ServerSocket free = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    EventOptions connecting = EventOptions.of(EventFormat.VLLM).withConnect("127.0.0.1:" + port);
    try (SimEngine engine = SimEngine.start(config(connecting));
        Listening listening = Listening.byAsking()) {
      listening.add(engine.url(), Map.of());
      Await.until(
          "named",
          () ->
              logged.list.stream()
                  .map(ILoggingEvent::getFormattedMessage)
                  .anyMatch(
                      line ->
                          line.contains("publisher connects to this address")
                              && line.contains("(expected: tcp://*:" + port + ")")));
    } finally {
      logger.detachAppender(logged);
    }
  }

  @Test
  @Tag("full")
  void workersThatLeaveReleaseAllResources() {
    UnixOperatingSystemMXBean system =
        (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byLabels()) {
      long descriptors = 0;
      long following = 0;
      for (int i = 0; i < 30; i++) {
        Worker worker = listening.add(engine.events().port(), engine.events().replayPort());
        listening.awaitLive(worker);
        following = i == 4 ? followers() : following;
        listening.fleet.remove(worker.id());
        Await.until("gone", () -> engine.events().subscribers() == 0);
        Await.until("reported", () -> !listening.feed.live(worker, 0));
        if (i == 4) {
          descriptors = system.getOpenFileDescriptorCount();
        }
      }
      assertThat(following).as("threads that are reported").isPositive();
      long most = descriptors + 10;
      Await.until("descriptors given back", () -> system.getOpenFileDescriptorCount() <= most);
      Await.until("threads at their ends", () -> followers() == 0);
    }
  }

  /** Number of threads that follow a source. They are virtual, so only a thread dump shows them. */
  private long followers() {
    Path dump = directory.resolve("threads-" + dumps++);
    try {
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
          .dumpThreads(dump.toString(), HotSpotDiagnosticMXBean.ThreadDumpFormat.TEXT_PLAIN);
      try (Stream<String> lines = Files.lines(dump)) {
        return lines
            .filter(line -> line.contains("\"kv-events-") && line.contains(", rank "))
            .count();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void anEngineWithoutEventsHasNoSource() {
    try (SimEngine engine = SimEngine.start(SimConfig.instant());
        SimEngine other = SimEngine.start(config(EventOptions.of(EventFormat.SGLANG)));
        Listening listening = Listening.byAsking()) {
      Worker quiet = listening.add(engine.url(), Map.of());
      Worker worker = listening.add(other.url(), Map.of());
      listening.awaitLive(worker);
      listening.awaitAsked(engine);
      assertThat(listening.feed.subscribed(quiet, 0)).isFalse();
    }
  }

  @Test
  void aSourceThatNeverRespondsAffectsNoOther() throws IOException {
    try (ServerSocket mute = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byLabels()) {
      for (int i = 0; i < 5; i++) {
        listening.add(mute.getLocalPort(), mute.getLocalPort());
      }
      Worker worker = listening.add(engine.events().port(), engine.events().replayPort());
      listening.awaitLive(worker);
    }
  }

  @Test
  void aMovedPublisherIsFollowed() throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byAsking()) {
      Worker worker = listening.add(engine.url(), Map.of());
      listening.awaitLive(worker);
      int port = engine.port();
      engine.stop();
      EventOptions moved = EventOptions.of(EventFormat.VLLM);
      try (SimEngine next = SimEngine.start(config(moved).withPort(port))) {
        ask(next, "m", "1,2,3,4,5", "");
        Await.until("a block", () -> listening.feed.blocks(worker, 0).size() == 1);
        listening.awaitLive(worker);
      }
    }
  }

  @Test
  void sourcesThatStayAreKeptWhenTheSettingsChange() throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byAsking()) {
      Worker worker = withTwoBlocks(listening, engine);

      listening.events.use(
          new KvEventSettings(
              Mode.AUTO, "", "", "", 1, Duration.ofMillis(100), KvEventLimits.DEFAULTS));
      listening.awaitAskedAgain();
      listening.awaitAskedAgain();
      assertThat(listening.tally.of(Count.CONNECTS)).isEqualTo(1);
      assertThat(listening.tally.of(Count.RESETS_GONE)).isZero();
      assertThat(listening.feed.blocks(worker, 0)).hasSize(2);

      listening.events.use(Listening.settings(Mode.STATIC, ""));
      listening.await(Count.RESETS_GONE, 1);
      assertThat(listening.feed.blocks(worker, 0)).isEmpty();
    }
  }

  @Test
  void subscriptionsEndAndBeginAgain() throws Exception {
    try (SimEngine engine = SimEngine.start(config(EventOptions.of(EventFormat.VLLM)));
        Listening listening = Listening.byAsking()) {
      Worker worker = listening.add(engine.url(), Map.of());
      listening.awaitLive(worker);

      listening.events.use(Listening.settings(Mode.OFF, ""));
      assertThat(listening.tally.of(Count.RESETS_GONE)).isEqualTo(1);
      assertThat(listening.feed.live(worker, 0)).isFalse();

      listening.events.use(Listening.settings(Mode.AUTO, ""));
      listening.awaitLive(worker);
    }
  }
}
