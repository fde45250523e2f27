package io.pointsman.it.fault;

import static io.pointsman.testkit.engine.EngineFault.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.engine.EngineFault;
import io.pointsman.testkit.engine.Faults;
import java.io.IOException;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every fault of an engine, without another engine and with one. */
@Timeout(180)
@Tag("full")
final class EngineFaultsTest {
  /** More than the tolerance for threads and descriptors. */
  private static final int REQUESTS = 40;

  /** Minimum number of these that must meet the fault; more than the tolerance. */
  private static final int ENOUGH = 13;

  /** More bytes than a few heads of 64 KiB take, including allocator reserves. */
  private static final long HEADS_TAKE = 8 << 20;

  private static final Set<EngineFault> CLOSE_KEPT_CONNECTIONS =
      EnumSet.of(CLOSES_AS_REQUEST_COMES, RESETS_AS_REQUEST_COMES);

  /** Faults that end with a good response, after which the connection may be kept. */
  private static final Set<EngineFault> SERVES_ON =
      EnumSet.of(CLOSES_AS_REQUEST_COMES, RESETS_AS_REQUEST_COMES, TRICKLES);

  /**
   * A fault that is not blamed on the engine: it was still sending when the total time was over.
   */
  private static final EngineFault STILL_SENDS = TRICKLES_FOREVER;

  private static final String GOOD = "{\"ok\":true}";

  /** Response of an engine with a fault, if the client is served anyway. */
  private static final Map<EngineFault, String> OWN_ANSWERS =
      Map.of(LENGTH_AND_CHUNKS, "", SPEAKS_HTTP_10, "{\"ok\":1}", TRICKLES, "{}");

  /**
   * Optional events, then the error, and nothing after it. Empty lines end a cut event and have no
   * effect otherwise.
   */
  private static final String ENDED_WITH_AN_ERROR =
      "(data: one\n\n(data: half)?)?\n*data: \\{\"error\":\\{\"message\":[^\n]*}}\n\n";

  private static @Nullable FaultRig current;
  private static String currentKey = "";

  /** The ending of a request for its client. */
  enum Seen {
    /** A complete response with status 200. */
    SERVED,
    /** 502 with an error object. */
    BAD_GATEWAY,
    /** 503 with an error object: no worker is healthy. */
    NO_WORKER,
    /** 504 with an error object. */
    TIMED_OUT,
    /** Status 200 and a stream that ended in order, with an error event. */
    ERROR_EVENT,
    /** Status 200 and a broken connection, which shows that the response is incomplete. */
    CUT;

    static Seen of(HttpAnswer answer) {
      return switch (answer.status()) {
        case 200 -> {
          if (!answer.complete()) {
            yield CUT;
          }
          yield answer.text().contains("\"error\"") ? ERROR_EVENT : SERVED;
        }
        case 502 -> errorObject(answer, BAD_GATEWAY);
        case 503 -> errorObject(answer, NO_WORKER);
        case 504 -> errorObject(answer, TIMED_OUT);
        default -> throw new AssertionError(answer.status() + ": " + answer.text());
      };
    }

    private static Seen errorObject(HttpAnswer answer, Seen seen) {
      assertThat(answer.complete()).isTrue();
      assertThat(answer.text()).startsWith("{\"error\":{\"message\":");
      return seen;
    }
  }

  /**
   * A row of the table.
   *
   * @param stream true if the client requests a stream
   * @param alone the ending without another engine
   * @param beside possible endings with another engine; at least one request meets the fault
   */
  record Row(
      EngineFault fault,
      boolean stream,
      Map<String, Object> settings,
      Seen alone,
      Set<Seen> beside) {
    private static Row whole(EngineFault fault, Seen alone, Seen... beside) {
      return new Row(fault, false, Map.of(), alone, EnumSet.copyOf(List.of(beside)));
    }

    private static Row streamed(EngineFault fault) {
      return new Row(fault, true, Map.of(), Seen.ERROR_EVENT, anyOf(Seen.ERROR_EVENT));
    }

    private static Set<Seen> anyOf(Seen faulty) {
      return EnumSet.of(faulty, Seen.SERVED);
    }

    private Row with(String path, Object value) {
      Map<String, Object> more = new TreeMap<>(settings);
      more.put(path, value);
      return new Row(fault, stream, more, alone, beside);
    }

    @Override
    public String toString() {
      return fault + (stream ? ", streamed" : "");
    }
  }

  private static Row refusedBeforeTheAnswer(EngineFault fault) {
    return Row.whole(fault, Seen.BAD_GATEWAY, Seen.SERVED);
  }

  private static Row silentBeforeTheAnswer(EngineFault fault) {
    return new Row(fault, false, Map.of(), Seen.TIMED_OUT, Row.anyOf(Seen.TIMED_OUT))
        .with("timeouts.first-byte", "500ms");
  }

  static Stream<Row> rows() {
    return Stream.of(
        refusedBeforeTheAnswer(REFUSES),
        silentBeforeTheAnswer(NEVER_READS),
        silentBeforeTheAnswer(HANGS_BEFORE_HEADERS),
        silentBeforeTheAnswer(HANGS_WITHIN_HEADERS),
        silentBeforeTheAnswer(TRICKLES_HEADERS),
        Row.streamed(HANGS_MID_STREAM).with("timeouts.idle", "500ms"),
        refusedBeforeTheAnswer(RESETS_BEFORE_HEADERS),
        refusedBeforeTheAnswer(RESETS_WITHIN_HEADERS),
        new Row(RESETS_AFTER_HEADERS, true, Map.of(), Seen.BAD_GATEWAY, EnumSet.of(Seen.SERVED)),
        Row.streamed(RESETS_MID_STREAM),
        Row.streamed(HALF_CHUNK),
        Row.streamed(BAD_CHUNK_SIZE),
        Row.streamed(WRONG_CHUNK_SIZE),
        Row.streamed(OVERSIZE_CHUNK),
        refusedBeforeTheAnswer(HEAD_TOO_LARGE),
        refusedBeforeTheAnswer(HUGE_HEADER),
        refusedBeforeTheAnswer(LENGTH_TOO_LONG),
        Row.whole(LENGTH_TOO_SHORT, Seen.SERVED, Seen.SERVED),
        Row.whole(LENGTH_AND_CHUNKS, Seen.SERVED, Seen.SERVED),
        refusedBeforeTheAnswer(INTERIM_STORM),
        refusedBeforeTheAnswer(CONTINUE_STORM),
        Row.whole(SPEAKS_HTTP_10, Seen.SERVED, Seen.SERVED),
        Row.whole(CLOSES_AS_REQUEST_COMES, Seen.SERVED, Seen.SERVED),
        Row.whole(RESETS_AS_REQUEST_COMES, Seen.SERVED, Seen.SERVED),
        refusedBeforeTheAnswer(GARBAGE),
        refusedBeforeTheAnswer(SPEAKS_TLS),
        Row.whole(TRICKLES, Seen.SERVED, Seen.SERVED),
        Row.whole(TRICKLES_FOREVER, Seen.CUT, Seen.CUT, Seen.SERVED).with("timeouts.total", "3s"));
  }

  @Test
  void everyFaultHasARow() {
    assertThat(rows().map(Row::fault)).containsExactlyInAnyOrder(EngineFault.values());
  }

  /** Rows ordered by settings, because rows with equal settings share a router. */
  static Stream<Row> grouped() {
    return rows().sorted(Comparator.comparing(row -> row.settings().toString()));
  }

  @ParameterizedTest
  @MethodSource("grouped")
  void withNoOtherEngine(Row row) throws Exception {
    FaultRig rig = rig(0, row.settings());
    long failures = rig.worker().failures();
    rig.strike(row.fault());
    assertThat(ask(rig, row)).isEqualTo(row.alone());
    if (row.alone() == Seen.SERVED || row.fault() == STILL_SENDS) {
      assertThat(rig.worker().failures()).as("failures, none").isEqualTo(failures);
    } else {
      assertThat(rig.worker().failures()).as("failures, a failed lease").isGreaterThan(failures);
    }
    if (row.alone() == Seen.SERVED) {
      assertThat(ask(rig, row)).as("the next request").isEqualTo(Seen.SERVED);
    }
    assertThat(overAndOver(rig, row)).isSubsetOf(row.alone(), Seen.NO_WORKER);
    rig.check();
  }

  @ParameterizedTest
  @MethodSource("grouped")
  void withAHealthyEngineBeside(Row row) throws Exception {
    FaultRig rig = rig(1, row.settings());
    rig.strike(row.fault());
    assertThat(overAndOver(rig, row)).isSubsetOf(row.beside()).contains(Seen.SERVED);
    rig.check();
  }

  @ParameterizedTest
  @MethodSource("grouped")
  void itsConnectionIsNotKept(Row row) throws Exception {
    FaultRig rig = rig(0, FaultRig.keepingConnections(row.settings()));
    rig.strike(row.fault());
    int from = rig.engine().requests().size();
    int opened = rig.engine().connections();
    if (CLOSE_KEPT_CONNECTIONS.contains(row.fault())) {
      assertThat(ConcurrentClients.of(REQUESTS, 2, _ -> () -> askInTurn(rig, row)))
          .containsOnly(Seen.SERVED);
      assertThat(rig.onUsedConnections(from))
          .as("requests that met the fault")
          .isGreaterThanOrEqualTo(ENOUGH);
    } else {
      assertThat(ask(rig, row)).isEqualTo(row.alone());
    }
    if (row.fault() == REFUSES) {
      assertThat(rig.engine().connections()).as("connections").isEqualTo(opened);
    } else if (!SERVES_ON.contains(row.fault())) {
      rig.awaitLeft(from, opened);
    }
    rig.check();
  }

  @Test
  void onlyThePermittedConnectionsAreKept() throws Exception {
    Row row = Row.whole(TRICKLES, Seen.SERVED, Seen.SERVED);
    FaultRig rig = rig(0, FaultRig.keepingConnections(row.settings()));
    rig.engine().closeConnections();
    int opened = rig.engine().connections();
    CountDownLatch all = new CountDownLatch(REQUESTS);
    rig.engine()
        .now(
            FaultRig.healthy(
                (request, connection) -> {
                  all.countDown();
                  all.await();
                  Faults.Answer.ok().answer(request, connection);
                }));
    assertThat(ConcurrentClients.of(REQUESTS, _ -> () -> ask(rig, row))).containsOnly(Seen.SERVED);
    assertThat(rig.engine().connections() - opened)
        .as("connections, all in use at once")
        .isEqualTo(REQUESTS);
    rig.check();
  }

  /** The header has 100 MB; at most 64 KiB of a head may be kept. */
  @Test
  void aHugeHeaderIsNotKeptInMemory() throws Exception {
    Row row = refusedBeforeTheAnswer(HUGE_HEADER);
    FaultRig rig = rig(0, row.settings());
    rig.strike(HUGE_HEADER);
    try (MemoryWatch memory = MemoryWatch.begin()) {
      assertThat(ask(rig, row)).isEqualTo(Seen.BAD_GATEWAY);
      assertThat(memory.mostMoreInBuffers()).as("bytes of buffers").isLessThan(HEADS_TAKE);
      assertThat(memory.moreOnHeap()).as("bytes of the heap").isLessThan(HEADS_TAKE);
    }
    rig.check();
  }

  @ParameterizedTest
  @EnumSource(names = {"NEVER_READS", "HANGS_BEFORE_HEADERS", "HANGS_WITHIN_HEADERS"})
  void aSilentEngineCausesARetryIfEnabled(EngineFault fault) throws Exception {
    // The healthy engine must answer within this time, even on a busy machine.
    Row row =
        silentBeforeTheAnswer(fault)
            .with("retry.after-timeout", true)
            .with("timeouts.first-byte", "3s");
    FaultRig rig = rig(1, row.settings());
    rig.strike(fault);
    assertThat(overAndOver(rig, row)).containsOnly(Seen.SERVED);
    rig.check();
  }

  /**
   * Sends so many requests that a leak in each is detected. Nearly all meet the fault; with another
   * engine, half of them.
   *
   * @return the endings
   */
  private static Set<Seen> overAndOver(FaultRig rig, Row row) throws Exception {
    long before = metBy(rig, row);
    List<Seen> seen = ConcurrentClients.of(REQUESTS, _ -> () -> ask(rig, row));
    if (row.fault() != REFUSES) {
      assertThat(metBy(rig, row) - before)
          .as("requests that met the fault")
          .isGreaterThanOrEqualTo(ENOUGH);
    }
    return EnumSet.copyOf(seen);
  }

  /** Number of requests received; connections if none is read. */
  private static long metBy(FaultRig rig, Row row) {
    return row.fault() == NEVER_READS ? rig.engine().connections() : rig.requestsSeen();
  }

  /** One router at a time, because the checks compare the resources of this process. */
  private static FaultRig rig(int healthy, Map<String, Object> settings) throws IOException {
    String key = healthy + " " + settings;
    FaultRig open = current;
    if (open == null || !key.equals(currentKey)) {
      stop();
      open = FaultRig.beside(healthy, settings);
      current = open;
      currentKey = key;
    }
    open.ready();
    return open;
  }

  @AfterAll
  static void stop() throws IOException {
    FaultRig open = current;
    current = null;
    if (open != null) {
      open.ready();
      open.close();
    }
  }

  /**
   * Sends several requests on one client connection, and so on one event loop with one pool. All
   * but the last must be served.
   *
   * @return the ending of the last one
   */
  private static Seen askInTurn(FaultRig rig, Row row) throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      for (int i = 0; i < 2; i++) {
        assertThat(ask(client, row)).isEqualTo(Seen.SERVED);
      }
      return ask(client, row);
    }
  }

  private static Seen ask(FaultRig rig, Row row) throws IOException {
    try (RawClient client = RawClient.connect(rig.port())) {
      return ask(client, row);
    }
  }

  private static Seen ask(RawClient client, Row row) throws IOException {
    HttpAnswer answer =
        client.send("POST", "/v1/completions", FaultRig.request(row.stream())).read();
    Seen seen = Seen.of(answer);
    if (seen == Seen.SERVED) {
      assertThat(answer.text()).matches(text -> whole(row, text), "what an engine has answered");
    } else if (seen == Seen.ERROR_EVENT) {
      assertThat(answer.text()).matches(ENDED_WITH_AN_ERROR);
    }
    return seen;
  }

  /** True if the text is the complete response of the faulty engine or of the healthy one. */
  private static boolean whole(Row row, String text) {
    boolean besideIt = text.contains("\"object\":\"text_completion\"");
    String end = row.stream() ? "data: [DONE]\n\n" : "}";
    return text.equals(GOOD)
        || text.equals(OWN_ANSWERS.get(row.fault()))
        || (besideIt && text.endsWith(end));
  }
}
