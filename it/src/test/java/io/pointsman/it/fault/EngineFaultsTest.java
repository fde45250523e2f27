package io.pointsman.it.fault;

import static io.pointsman.testkit.engine.EngineFault.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Crowd;
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

/** Every fault of an engine: with no other engine to turn to, and with one. */
@Timeout(180)
@Tag("full")
final class EngineFaultsTest {
  /** More than the threads and descriptors that may come without being lost. */
  private static final int REQUESTS = 40;

  /** Of those, what must meet the fault at least: more than may come without being lost. */
  private static final int ENOUGH = 13;

  /** More bytes than a few heads of 64 KiB take with what allocators keep in reserve. */
  private static final long HEADS_TAKE = 8 << 20;

  private static final Set<EngineFault> CLOSE_KEPT_CONNECTIONS =
      EnumSet.of(CLOSES_AS_REQUEST_COMES, RESETS_AS_REQUEST_COMES);

  /** Whose last answer is a good one, behind which the connection may be kept. */
  private static final Set<EngineFault> SERVES_ON =
      EnumSet.of(CLOSES_AS_REQUEST_COMES, RESETS_AS_REQUEST_COMES, TRICKLES);

  /** What is not held against an engine: it did send when the time for the whole was over. */
  private static final EngineFault STILL_SENDS = TRICKLES_FOREVER;

  private static final String GOOD = "{\"ok\":true}";

  /** What an engine with a fault answers in place of it, if it is served all the same. */
  private static final Map<EngineFault, String> OWN_ANSWERS =
      Map.of(LENGTH_AND_CHUNKS, "", SPEAKS_HTTP_10, "{\"ok\":1}", TRICKLES, "{}");

  /**
   * What came of events, if anything did, then the error, and nothing behind it. Empty lines end an
   * event that was cut, and are nothing where none was.
   */
  private static final String ENDED_WITH_AN_ERROR =
      "(data: one\n\n(data: half)?)?\n*data: \\{\"error\":\\{\"message\":[^\n]*}}\n\n";

  private static @Nullable FaultRig current;
  private static String currentKey = "";

  /** How a request ended for its client. */
  enum Seen {
    /** A whole answer with status 200. */
    SERVED,
    /** 502 with an error object. */
    BAD_GATEWAY,
    /** 503 with an error object: no worker is healthy at the moment. */
    NO_WORKER,
    /** 504 with an error object. */
    TIMED_OUT,
    /** Status 200 and a stream that ended in order, with an error event. */
    ERROR_EVENT,
    /** Status 200 and a connection that broke, so that nobody takes it for the whole. */
    CUT;

    static Seen of(Answer answer) {
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

    private static Seen errorObject(Answer answer, Seen seen) {
      assertThat(answer.complete()).isTrue();
      assertThat(answer.text()).startsWith("{\"error\":{\"message\":");
      return seen;
    }
  }

  /**
   * A row of the table.
   *
   * @param stream whether the client asks for a stream
   * @param alone what a client sees when there is no other engine
   * @param beside what clients may see when there is one; with the fault met at least once
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
        Row.streamed(RESETS_AFTER_HEADERS),
        Row.streamed(RESETS_MID_STREAM),
        Row.streamed(HALF_CHUNK),
        Row.streamed(BAD_CHUNK_SIZE),
        Row.streamed(WRONG_CHUNK_SIZE),
        Row.streamed(OVERSIZE_CHUNK),
        refusedBeforeTheAnswer(HEAD_TOO_LARGE),
        refusedBeforeTheAnswer(HUGE_HEADER),
        Row.whole(LENGTH_TOO_LONG, Seen.CUT, Seen.CUT, Seen.SERVED),
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

  /** Rows that want the same settings follow each other, because they share a router. */
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
      assertThat(Crowd.of(REQUESTS, 2, _ -> () -> askInTurn(rig, row))).containsOnly(Seen.SERVED);
      assertThat(rig.onUsedConnections(from))
          .as("requests that met the fault")
          .isGreaterThanOrEqualTo(ENOUGH);
    } else {
      assertThat(ask(rig, row)).isEqualTo(row.alone());
    }
    if (!SERVES_ON.contains(row.fault())) {
      int met = rig.awaitLeft(from, opened);
      assertThat(met == 0).as("no connection met the fault").isEqualTo(row.fault() == REFUSES);
    }
    rig.check();
  }

  @Test
  void noMoreConnectionsAreKeptThanAllowed() throws Exception {
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
    assertThat(Crowd.of(REQUESTS, _ -> () -> ask(rig, row))).containsOnly(Seen.SERVED);
    assertThat(rig.engine().connections() - opened)
        .as("connections, all in use at once")
        .isEqualTo(REQUESTS);
    rig.check();
  }

  /** What may be kept of a head is 64 KiB; the header is 100 MB. */
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
  void whatIsSilentIsTriedElsewhereIfThatIsWanted(EngineFault fault) throws Exception {
    // The healthy engine must answer in that time, however busy the machine.
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
   * So many requests that a thing lost with each shows; how they ended. Nearly all meet the fault,
   * or half of them beside another engine.
   */
  private static Set<Seen> overAndOver(FaultRig rig, Row row) throws Exception {
    long before = metBy(rig, row);
    List<Seen> seen = Crowd.of(REQUESTS, _ -> () -> ask(rig, row));
    if (row.fault() != REFUSES) {
      assertThat(metBy(rig, row) - before)
          .as("requests that met the fault")
          .isGreaterThanOrEqualTo(ENOUGH);
    }
    return EnumSet.copyOf(seen);
  }

  /** Requests that came so far; where none is read, the connections for them. */
  private static long metBy(FaultRig rig, Row row) {
    return row.fault() == NEVER_READS ? rig.engine().connections() : rig.requestsSeen();
  }

  /** One router at a time, so that what this process holds is what that one does. */
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
   * Some requests on one connection of a client: on one event loop, whose pool has what the first
   * one used. How the last one ended, the others served.
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
    Answer answer = client.send("POST", "/v1/completions", FaultRig.request(row.stream())).read();
    Seen seen = Seen.of(answer);
    if (seen == Seen.SERVED) {
      assertThat(answer.text()).matches(text -> whole(row, text), "what an engine has answered");
    } else if (seen == Seen.ERROR_EVENT) {
      assertThat(answer.text()).matches(ENDED_WITH_AN_ERROR);
    }
    return seen;
  }

  /** Whether it is what the engine with the fault answers, or the healthy one beside it. */
  private static boolean whole(Row row, String text) {
    boolean besideIt = text.contains("\"object\":\"text_completion\"");
    String end = row.stream() ? "data: [DONE]\n\n" : "}";
    return text.equals(GOOD)
        || text.equals(OWN_ANSWERS.get(row.fault()))
        || (besideIt && text.endsWith(end));
  }
}
