package io.pointsman.pd.execution.waiting;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.execution.waiting.SlotQueues.Position;
import io.pointsman.pd.execution.waiting.SlotQueues.SlotKey;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SlotQueuesTest {
  private static final SlotKey PREFILL = new SlotKey("m", Role.PREFILL);
  private static final SlotKey DECODE = new SlotKey("m", Role.DECODE);

  private final List<String> turns = new ArrayList<>();

  private Position enter(SlotQueues queues, SlotKey key, String name) {
    return requireNonNull(queues.enter(key, () -> turns.add(name)));
  }

  @Test
  void requestsGetTheirTurnInOrderOfArrival() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, DECODE, "a");
    Position b = enter(queues, DECODE, "b");
    Position c = enter(queues, DECODE, "c");
    assertThat(queues.first(a)).isTrue();
    assertThat(queues.first(b)).isFalse();

    queues.leave(b);
    assertThat(turns).as("it was not the first").isEmpty();
    queues.leave(a);
    assertThat(turns).containsExactly("c");
    assertThat(queues.first(c)).isTrue();
    queues.leave(a);
    assertThat(turns).containsExactly("c");
    queues.leave(c);
    assertThat(queues.waiting()).isZero();
    assertThat(queues.before("m", null)).isEmpty();
  }

  @Test
  void queuesDoNotBlockEachOther() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, PREFILL, "a");
    assertThat(queues.before("n", null)).isEmpty();
    assertThat(queues.before("m", null)).containsExactly(Role.PREFILL);
    Position b = enter(queues, new SlotKey("n", Role.PREFILL), "b");
    Position c = enter(queues, DECODE, "c");
    assertThat(List.of(a, b, c)).allMatch(queues::first);
  }

  @Test
  void onlyEarlierRequestsAreBefore() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, PREFILL, "a");
    Position b = enter(queues, DECODE, "b");
    Position c = enter(queues, PREFILL, "c");
    assertThat(queues.before("m", a)).isEmpty();
    assertThat(queues.before("m", b)).containsExactly(Role.PREFILL);
    assertThat(queues.before("m", c)).containsExactly(Role.PREFILL, Role.DECODE);
    assertThat(queues.before("m", null)).containsExactly(Role.PREFILL, Role.DECODE);
  }

  @Test
  void changeOfTheQueueKeepsTheOrderOfArrival() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, PREFILL, "a");
    Position b = enter(queues, DECODE, "b");
    Position c = enter(queues, PREFILL, "c");
    Position d = enter(queues, DECODE, "d");

    queues.change(a, DECODE);
    assertThat(turns).as("the next one that waits for prefill").containsExactly("c");
    assertThat(queues.first(a)).isTrue();
    assertThat(queues.first(b)).isFalse();
    assertThat(queues.first(c)).isTrue();
    queues.change(a, DECODE);
    queues.change(b, PREFILL);
    assertThat(turns).as("neither was the first of the queue it left").containsExactly("c");
    assertThat(queues.first(b)).isTrue();
    assertThat(queues.first(c)).isFalse();
    assertThat(queues.waiting()).isEqualTo(4);

    queues.leave(b);
    assertThat(turns).containsExactly("c", "c");
    queues.leave(a);
    assertThat(turns).containsExactly("c", "c", "d");
    queues.leave(c);
    queues.leave(d);
    assertThat(queues.waiting()).isZero();
    assertThat(queues.before("m", null)).isEmpty();
  }

  /** All requests that wait for prefill need decode too, so each would only return. */
  @Test
  void requestThatWaitsForPrefillStaysIfEarlierOnesWaitForDecode() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, DECODE, "a");
    Position b = enter(queues, PREFILL, "b");
    enter(queues, PREFILL, "c");

    queues.change(b, DECODE);
    assertThat(turns).isEmpty();
    assertThat(queues.first(b)).isTrue();
    queues.leave(a);
    queues.change(b, DECODE);
    assertThat(turns).containsExactly("c");
    assertThat(queues.first(b)).isTrue();
  }

  @Test
  void requestThatWaitsForDecodeMovesBehindEarlierOnesThatWaitForPrefill() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, PREFILL, "a");
    Position b = enter(queues, DECODE, "b");
    enter(queues, DECODE, "c");

    queues.change(b, PREFILL);
    assertThat(turns).containsExactly("c");
    assertThat(queues.first(b)).isFalse();
    queues.leave(a);
    assertThat(turns).containsExactly("c", "b");
  }

  @Test
  void aPositionThatHasLeftCannotChangeItsQueue() {
    SlotQueues queues = new SlotQueues(10);
    Position a = enter(queues, PREFILL, "a");
    queues.leave(a);
    queues.change(a, DECODE);
    assertThat(queues.before("m", null)).isEmpty();
  }

  @Test
  void theTotalOfAllQueuesIsBounded() {
    SlotQueues queues = new SlotQueues(2);
    Position a = enter(queues, PREFILL, "a");
    enter(queues, DECODE, "b");
    assertThat(queues.enter(new SlotKey("n", Role.REGULAR), () -> {})).isNull();
    queues.change(a, DECODE);
    assertThat(queues.waiting()).isEqualTo(2);
    assertThat(queues.enter(PREFILL, () -> {})).isNull();
    queues.leave(a);
    assertThat(queues.enter(PREFILL, () -> {})).isNotNull();
  }
}
