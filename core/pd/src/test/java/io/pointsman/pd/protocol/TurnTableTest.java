package io.pointsman.pd.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.engine.prefix.Prompts;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.protocol.TurnTable.Turn;
import io.pointsman.request.splice.RawJson;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TurnTableTest {
  private static final RawJson TEN_BYTES = RawJson.of("{\"a\":1234}");

  private final TestFleet fleet = TestFleet.of(1);
  private final Worker decode = fleet.worker(0);

  private TurnTable table(int most, long bytes, Duration ttl) {
    return new TurnTable(ttl, most, bytes, fleet::now);
  }

  private static Conversation turn(String session, String owner, String model, String prompt) {
    return new Conversation(session, owner, model, Prompts.prompt(prompt));
  }

  /** The mark behind this prompt. */
  private static PrefixMark behind(String prompt) {
    return new PrefixMark(Prompts.prompt(prompt).whole(), prompt.length());
  }

  private void put(TurnTable table, String session, RawJson params) {
    put(table, turn(session, "o", "m", "p"), params, "pa");
  }

  private void put(TurnTable table, Conversation turn, RawJson params, String next) {
    table.put(turn, new Turn(decode, params, null, behind(next)));
  }

  private static @Nullable RawJson taken(TurnTable table, String session) {
    return taken(table, turn(session, "o", "m", "paq"));
  }

  private static @Nullable RawJson taken(TurnTable table, Conversation next) {
    Turn turn = table.take(next);
    return turn == null ? null : turn.params();
  }

  @Test
  void theOldestIsRemovedWhenThereAreTooMany() {
    TurnTable table = table(2, 1000, Duration.ofHours(1));
    put(table, "a", TEN_BYTES);
    put(table, "b", TEN_BYTES);
    put(table, "a", TEN_BYTES);
    put(table, "c", TEN_BYTES);

    assertThat(taken(table, "b")).isNull();
    assertThat(taken(table, "a")).isEqualTo(TEN_BYTES);
    assertThat(taken(table, "c")).isEqualTo(TEN_BYTES);
  }

  @Test
  void theOldestIsRemovedWhenTheyAreTooLarge() {
    TurnTable table = table(100, 25, Duration.ofHours(1));
    put(table, "a", TEN_BYTES);
    put(table, "b", TEN_BYTES);
    put(table, "c", TEN_BYTES);
    assertThat(taken(table, "a")).isNull();
    assertThat(table.size()).isEqualTo(2);

    put(table, "d", RawJson.of("\"" + "x".repeat(30) + "\""));
    assertThat(taken(table, "d")).isNull();
    assertThat(taken(table, "b")).isEqualTo(TEN_BYTES);
    assertThat(taken(table, "c")).isEqualTo(TEN_BYTES);
    put(table, "e", TEN_BYTES);
    put(table, "f", TEN_BYTES);
    assertThat(table.size()).isEqualTo(2);
  }

  @Test
  void withoutARetentionNothingIsKept() {
    TurnTable table = table(2, 1000, Duration.ZERO);
    put(table, "a", TEN_BYTES);

    assertThat(table.size()).isZero();
  }

  @Test
  void longNamesAreNotKept() {
    TurnTable table = table(2, 1000, Duration.ofHours(1));
    put(table, "x".repeat(513), TEN_BYTES);

    assertThat(table.size()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"c,o,n", "c,x,m", "d,o,m"})
  void anotherModelOwnerOrSessionIsAnotherConversation(String session, String owner, String model) {
    TurnTable table = table(2, 1000, Duration.ofHours(1));
    put(table, turn("c", "o", "m", "p"), TEN_BYTES, "pa");

    assertThat(taken(table, turn(session, owner, model, "paq"))).isNull();
    assertThat(taken(table, turn("c", "o", "m", "paq"))).isEqualTo(TEN_BYTES);
  }

  /** The same prompt, an inserted answer, another beginning, no continuation after the answer. */
  @ParameterizedTest
  @ValueSource(strings = {"p", "pbq", "xaq", "pa", "q"})
  void anotherBranchOfTheConversationDoesNotGetIt(String prompt) {
    TurnTable table = table(2, 1000, Duration.ofHours(1));
    put(table, turn("c", "o", "m", "p"), TEN_BYTES, "pa");

    assertThat(taken(table, turn("c", "o", "m", prompt))).isNull();
    assertThat(taken(table, turn("c", "o", "m", "paqrst"))).isEqualTo(TEN_BYTES);
    assertThat(table.size()).isZero();
  }

  @Test
  void anExpiredTurnIsDropped() {
    TurnTable table = table(2, 1000, Duration.ofSeconds(1));
    put(table, "a", TEN_BYTES);
    fleet.clock.advance(Duration.ofSeconds(1));

    assertThat(taken(table, "a")).isNull();
    assertThat(table.size()).isZero();
  }
}
