package io.pointsman.observe.capture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.settings.CaptureSettings;
import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings("try") // tests may be interrupted
@Timeout(120)
class TraceCaptureTest implements EngineListener {
  private static final long LEAST = 64 << 10;

  @TempDir private Path directory;
  private final FakeClock clock = new FakeClock();
  private final CaptureTally tally = new CaptureTally();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);

  private Path file() {
    return directory.resolve("trace.jsonl");
  }

  private TraceCapture capture(long maxBytes, int files) throws IOException {
    return new TraceCapture(
        new CaptureSettings(file().toString(), maxBytes, files), clock::nanos, tally);
  }

  private RoutingEngine engine(TraceCapture capture) {
    fleet.add(WorkerSpec.of("http://w:1")).probed(true);
    ScriptedRandomSource random = ScriptedRandomSource.seeded(6);
    PolicyParts parts =
        new PolicyParts(
            clock::nanos,
            random::roll,
            FleetSettings.DEFAULTS.maxWorkers(),
            PolicySettings.DEFAULTS);
    return new RoutingEngine(
        fleet,
        Policies.create("cost", parts).withAnswers(capture),
        new EngineSettings(UnknownModel.ANY_WORKER),
        this,
        clock::nanos,
        random::roll);
  }

  private static PrefixBlocks prompt(long n, int blocks) {
    long[] pieces = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      pieces[i] = PrefixBlocks.mix(n * 1_000_000 + i);
    }
    return PrefixBlocks.chain(3, pieces, blocks, blocks * 16, 16, blocks * 16);
  }

  private static Lease place(RoutingEngine engine, PrefixBlocks prompt, String model) {
    RoutingRequest request = RoutingRequest.builder().model(model).prefix(prompt).build();
    return ((Decision.Routed) engine.decide(request)).lease();
  }

  private static Lease place(RoutingEngine engine, PrefixBlocks prompt) {
    RoutingRequest request = RoutingRequest.builder().prefix(prompt).build();
    return ((Decision.Routed) engine.decide(request)).lease();
  }

  private List<JsonNode> lines() throws IOException {
    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file())) {
      lines.add(new ObjectMapper().readTree(line));
    }
    return lines;
  }

  @Test
  void lineContainsTimesLengthsHashesAndDecision() throws Exception {
    PrefixBlocks prompt = prompt(1, 10);
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      clock.advance(Duration.ofMillis(1500));
      Lease lease = place(engine, prompt);
      clock.advance(Duration.ofMillis(40));
      lease.firstToken();
      clock.advance(Duration.ofMillis(60));
      lease.reported(new Usage(200, 64, 7));
      lease.succeeded();
    }

    JsonNode line = lines().getFirst();
    assertThat(lines()).hasSize(1);
    assertThat(line.path("timestamp").asDouble()).isEqualTo(1500);
    assertThat(line.path("deferred_ms").asDouble()).isZero();
    assertThat(line.path("input_length").asInt()).isEqualTo(200);
    assertThat(line.path("output_length").asInt()).isEqualTo(7);
    // The router counts 160 ids, the engine 200 tokens; a hash covers four blocks of 16.
    assertThat(line.path("block_tokens").asDouble()).isEqualTo(80);
    assertThat(line.path("hash_ids")).hasSize(3);
    assertThat(line.path("hash_ids").get(0).asLong()).isEqualTo(prompt.hashes()[3]);
    assertThat(line.path("hash_ids").get(1).asLong()).isEqualTo(prompt.hashes()[7]);
    assertThat(line.path("hash_ids").get(2).asLong()).isEqualTo(prompt.hashes()[9]);
    assertThat(line.path("estimated").asBoolean()).isFalse();
    assertThat(line.path("cached_tokens").asInt()).isEqualTo(64);
    assertThat(line.path("worker").asText()).isEqualTo("w:1");
    assertThat(line.path("reason").asText()).isEqualTo("least_cost");
    assertThat(line.path("predicted_ttft_ms").asDouble()).isPositive();
    assertThat(line.path("ttft_ms").asDouble()).isEqualTo(40);
    assertThat(line.path("e2e_ms").asDouble()).isEqualTo(100);
    assertThat(line.path("end").asText()).isEqualTo("ok");
  }

  /**
   * Engines report such usage for embeddings and scores; one token is the shortest replayable
   * response.
   */
  @Test
  void requestWithoutOutputTokensIsWrittenWithOneToken() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      Lease lease = place(engine(capture), prompt(1, 4));
      lease.reported(new Usage(100, 0, 0));
      lease.succeeded();
    }

    JsonNode line = lines().getFirst();
    assertThat(line.path("output_length").asInt()).isEqualTo(1);
    assertThat(line.path("estimated").asBoolean()).isFalse();
  }

  @Test
  void deferredRequestHasItsArrivalTime() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      clock.advance(Duration.ofMillis(1500));
      RoutingRequest request = RoutingRequest.builder().prefix(prompt(1, 10)).build();
      request.waits().deferred(clock.nanos(), Double.NaN);
      clock.advance(Duration.ofMillis(250));
      Lease lease = ((Decision.Routed) engine.decide(request)).lease();
      clock.advance(Duration.ofMillis(40));
      lease.firstToken();
      lease.succeeded();
    }

    JsonNode line = lines().getFirst();
    assertThat(line.path("timestamp").asDouble()).isEqualTo(1500);
    assertThat(line.path("deferred_ms").asDouble()).isEqualTo(250);
    assertThat(line.path("ttft_ms").asDouble()).isEqualTo(40);
  }

  /** The queue estimates memory only by hashes. */
  @Test
  void longModelNameIsTruncated() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      String model = "x".repeat(1 << 20);
      RoutingRequest request = RoutingRequest.builder().model(model).prefix(prompt(1, 4)).build();
      Lease lease = ((Decision.Routed) engine(capture).decide(request)).lease();
      CapturedRequest captured =
          CapturedRequest.of(
              request, lease, CapturedRequest.ResponseEnd.OK, 0, null, clock.nanos());
      lease.ignored();

      assertThat(captured.model()).hasSize(200);
    }
  }

  @Test
  void retriedRequestIsWrittenOnceFromItsFirstDecision() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      fleet.add(WorkerSpec.of("http://w:2")).probed(true);
      RoutingRequest request = RoutingRequest.builder().prefix(prompt(1, 4)).build();
      clock.advance(Duration.ofMillis(10));
      Lease first = ((Decision.Routed) engine.decide(request)).lease();
      first.failed(Failure.ERROR);
      request.exclude(first.worker());
      clock.advance(Duration.ofMillis(200));
      Lease second = ((Decision.Routed) engine.decide(request)).lease();
      clock.advance(Duration.ofMillis(40));
      second.firstToken();
      second.succeeded();
    }

    assertThat(lines()).hasSize(1);
    assertThat(lines().getFirst().path("timestamp").asDouble()).isEqualTo(10);
    assertThat(lines().getFirst().path("ttft_ms").asDouble()).isEqualTo(40);
  }

  @Test
  void requestsCutDuringTheResponseAreWrittenWithTheirEnd() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      Lease left = place(engine, prompt(1, 4));
      left.firstToken();
      left.ignored();
      Lease broken = place(engine, prompt(2, 4));
      broken.firstToken();
      broken.failed(Failure.ERROR);
      place(engine, prompt(3, 4)).settle(Outcome.REFUSED);
    }

    assertThat(lines())
        .extracting(line -> line.path("end").asText())
        .containsExactly("cut", "cut", "refused");
    assertThat(lines().getFirst().path("estimated").asBoolean()).isTrue();
  }

  @Test
  void missingTokenCountsAreEstimated() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      place(engine(capture), prompt(1, 4)).succeeded();
    }

    JsonNode line = lines().getFirst();
    assertThat(line.path("estimated").asBoolean()).isTrue();
    assertThat(line.path("input_length").asInt()).isEqualTo(64);
    assertThat(line.path("output_length").asInt()).isEqualTo(256);
    assertThat(line.path("cached_tokens").isNull()).isTrue();
    assertThat(line.path("ttft_ms").isNull()).isTrue();
    assertThat(line.path("model").isNull()).isTrue();
  }

  @Test
  void namesCannotBreakALine() throws Exception {
    fleet.add(WorkerSpec.of("http://w:1"));
    String name = "a\"b\\c\nd\u00e9" + "x".repeat(500);
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      fleet.learnModels(fleet.snapshot().workers().getFirst(), Set.of(name));
      place(engine, prompt(1, 4), name).succeeded();
    }

    assertThat(lines()).hasSize(1);
    assertThat(lines().getFirst().path("model").asText()).isEqualTo(name.substring(0, 200));
  }

  @Test
  void onlyAnsweredRequestsWithAPromptAreWritten() throws Exception {
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      place(engine, prompt(1, 4)).ignored();
      place(engine, prompt(1, 4)).failed(Failure.ERROR);
      place(engine, PrefixBlocks.NONE).succeeded();
      place(engine, prompt(1, 4)).succeeded();
    }

    assertThat(lines()).hasSize(1);
  }

  @Test
  void prefillIsNotWrittenBesideItsDecode() throws Exception {
    fleet.add(WorkerSpec.of("http://p:1").withRole(Role.PREFILL)).probed(true);
    try (TraceCapture capture = capture(LEAST, 1)) {
      RoutingEngine engine = engine(capture);
      RoutingRequest prefill =
          RoutingRequest.builder().role(Role.PREFILL).prefix(prompt(1, 4)).build();
      ((Decision.Routed) engine.decide(prefill)).lease().succeeded();
      place(engine, prompt(1, 4)).succeeded();
    }

    assertThat(lines()).extracting(line -> line.path("worker").asText()).containsExactly("w:1");
  }

  @Test
  void filesAreLimitedInSizeAndNumberAndContainWholeLines() throws Exception {
    TraceCapture capture = capture(LEAST, 3);
    try (capture) {
      RoutingEngine engine = engine(capture);
      for (int i = 0; i < 2000; i++) {
        place(engine, prompt(i, 40)).succeeded();
      }
    }

    assertThat(tally.written() + tally.dropped()).isEqualTo(2000);
    assertThat(tally.failed()).isZero();
    List<Path> files = new ArrayList<>();
    try (Stream<Path> found = Files.list(directory)) {
      found.forEach(files::add);
    }
    assertThat(files)
        .extracting(path -> path.getFileName().toString())
        .containsExactlyInAnyOrder("trace.jsonl", "trace.jsonl.1", "trace.jsonl.2");
    for (Path path : files) {
      assertThat(Files.size(path)).isBetween(1L, LEAST);
      for (String line : Files.readAllLines(path)) {
        assertThat(new ObjectMapper().readTree(line).path("hash_ids")).hasSize(10);
      }
    }
  }

  @Test
  void existingFileIsRotated() throws Exception {
    Files.writeString(file(), "before\n");
    try (TraceCapture capture = capture(LEAST, 2)) {
      place(engine(capture), prompt(1, 4)).succeeded();
    }

    assertThat(lines()).hasSize(1);
    assertThat(Files.readString(directory.resolve("trace.jsonl.1"))).isEqualTo("before\n");
  }

  @Test
  void aCaptureThatDoesNotComeIntoUseLeavesAnExistingFile() throws Exception {
    Files.writeString(file(), "before\n");

    capture(LEAST, 2).close();

    assertThat(Files.readString(file())).isEqualTo("before\n");
    assertThat(directory.resolve("trace.jsonl.1")).doesNotExist();
  }

  @Test
  void writeErrorsAreCounted() throws Exception {
    TraceCapture capture =
        new TraceCapture(new CaptureSettings("/dev/full", LEAST, 1), clock::nanos, tally);
    try (capture) {
      RoutingEngine engine = engine(capture);
      for (int i = 0; i < 10; i++) {
        place(engine, prompt(i, 4)).succeeded();
      }
    }

    assertThat(tally.failed()).isEqualTo(10);
    assertThat(tally.written()).isZero();
  }

  @Test
  void requestsThatExceedTheQueueAreCounted() throws Exception {
    // Too long for a file, so nothing is written to disk.
    PrefixBlocks huge = new PrefixBlocks(new long[1_500_000], 1_500_000, 1_500_000, 1, 1_500_000);
    TraceCapture capture = capture(LEAST, 1);
    try (capture) {
      RoutingEngine engine = engine(capture);
      RoutingRequest request = RoutingRequest.builder().prefix(huge).build();
      Lease lease = place(engine, PrefixBlocks.NONE);
      for (int i = 0; i < 100; i++) {
        capture.ended(request, lease, Outcome.SUCCEEDED);
      }
      lease.ignored();
    }

    assertThat(tally.dropped()).isPositive();
    assertThat(tally.dropped() + tally.failed()).isEqualTo(100);
    assertThat(tally.written()).isZero();
  }

  @Test
  void fileThatCannotBeWrittenIsRefusedAtTheStart() {
    assertThatThrownBy(
            () ->
                new TraceCapture(
                    new CaptureSettings(directory.resolve("no/where").toString(), LEAST, 1),
                    clock::nanos,
                    tally))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("capture.file: cannot be written to: ");
  }

  @Test
  void directoryInPlaceOfTheFileIsNotChanged() throws Exception {
    Path kept = Files.createDirectories(file().resolve("kept"));
    for (int files : List.of(1, 8)) {
      assertThatThrownBy(() -> capture(LEAST, files))
          .isInstanceOf(IOException.class)
          .hasMessage("capture.file: " + file() + " is a directory (expected: a file)");
    }
    assertThat(kept).isDirectory();
  }

  @Test
  void anotherCaptureWritesTheRequestsInProgress() throws Exception {
    Path other = directory.resolve("other.jsonl");
    TraceCapture first = capture(LEAST, 2);
    RoutingEngine engine = engine(first);
    place(engine, prompt(1, 4)).succeeded();
    Lease inProgress = place(engine, prompt(2, 4));
    inProgress.firstToken();

    try (TraceCapture next =
        new TraceCapture(new CaptureSettings(other.toString(), LEAST, 2), clock::nanos, tally)) {
      first.close(next);
      inProgress.succeeded();
    }

    assertThat(lines()).hasSize(1);
    assertThat(Files.readAllLines(other)).hasSize(1);
    assertThat(Files.readString(other))
        .contains("\"end\":\"ok\"")
        .doesNotContain("\"ttft_ms\":null");
    assertThat(tally.written()).isEqualTo(2);
  }

  @Test
  void requestsAfterTheEndOfTheCaptureAreNotKept() throws Exception {
    TraceCapture capture = capture(LEAST, 2);
    Lease inProgress = place(engine(capture), prompt(2, 4));
    capture.close(null);

    inProgress.succeeded();

    assertThat(lines()).isEmpty();
    assertThat(tally.written() + tally.dropped() + tally.failed()).isZero();
  }

  @Test
  void anotherLimitCountsFromTheNextLineOn() throws Exception {
    TraceCapture capture = capture(LEAST << 10, 3);
    try (capture) {
      RoutingEngine engine = engine(capture);
      capture.limit(new CaptureSettings(file().toString(), LEAST, 3));
      for (int i = 0; i < 2000; i++) {
        place(engine, prompt(i, 10)).succeeded();
      }
    }

    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files).hasSize(3);
    }
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }
}
