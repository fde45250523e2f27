package io.pointsman.it.fault;

import static io.pointsman.testkit.engine.EngineFault.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Answer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.engine.EngineFault;
import java.io.IOException;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every fault of an engine: with no other engine to turn to, and with one. */
@Timeout(120)
final class EngineFaultsTest {
  private static final int REQUESTS = 4;
  private static final Map<String, FaultRig> RIGS = new HashMap<>();

  /** How a request ended for its client. */
  enum Seen {
    /** A whole answer with status 200. */
    SERVED,
    /** 502 with an error object. */
    BAD_GATEWAY,
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
        Row.whole(TRICKLES_FOREVER, Seen.CUT, Seen.CUT, Seen.SERVED)
            .with("timeouts.total", "1500ms"));
  }

  @Test
  void everyFaultHasARow() {
    assertThat(rows().map(Row::fault)).containsExactlyInAnyOrder(EngineFault.values());
  }

  @ParameterizedTest
  @MethodSource("rows")
  void withNoOtherEngine(Row row) throws Exception {
    FaultRig rig = rig(0, row);
    rig.strike(row.fault());
    assertThat(ask(rig, row)).isEqualTo(row.alone());
    if (row.alone() == Seen.SERVED) {
      assertThat(ask(rig, row)).as("the next request").isEqualTo(Seen.SERVED);
    }
    rig.check();
  }

  @ParameterizedTest
  @MethodSource("rows")
  void withAHealthyEngineBeside(Row row) throws Exception {
    FaultRig rig = rig(1, row);
    rig.strike(row.fault());
    long before = rig.requestsSeen();
    Seen[] seen = new Seen[REQUESTS];
    for (int i = 0; i < REQUESTS; i++) {
      seen[i] = ask(rig, row);
    }
    assertThat(Arrays.asList(seen)).isSubsetOf(row.beside()).contains(Seen.SERVED);
    if (row.fault() != REFUSES && row.fault() != NEVER_READS) {
      assertThat(rig.requestsSeen()).as("requests that met the fault").isGreaterThan(before);
    }
    rig.check();
  }

  /** The rows that want the same settings share a router, one after the other. */
  private static FaultRig rig(int healthy, Row row) throws IOException {
    String key = healthy + " " + row.settings();
    FaultRig rig = RIGS.get(key);
    if (rig == null) {
      rig = FaultRig.beside(healthy, row.settings());
      RIGS.put(key, rig);
    }
    rig.mark();
    return rig;
  }

  @AfterAll
  static void stop() throws IOException {
    for (FaultRig rig : RIGS.values()) {
      rig.mark();
      rig.close();
    }
    RIGS.clear();
  }

  private static Seen ask(FaultRig rig, Row row) throws IOException {
    return Seen.of(
        RawClient.call(rig.port(), "POST", "/v1/completions", FaultRig.request(row.stream())));
  }
}
