package io.pointsman.pd.execution.waiting;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.execution.waiting.WaitingRoom.Seat;
import io.pointsman.pd.execution.waiting.WaitingRoom.SlotLine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WaitingRoomTest {
  private static final SlotLine PREFILL = new SlotLine("m", Role.PREFILL);
  private static final SlotLine DECODE = new SlotLine("m", Role.DECODE);

  private final List<String> turns = new ArrayList<>();

  private Seat enter(WaitingRoom room, SlotLine line, String name) {
    return requireNonNull(room.enter(line, () -> turns.add(name)));
  }

  @Test
  void requestsGetTheirTurnInOrderOfArrival() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, DECODE, "a");
    Seat b = enter(room, DECODE, "b");
    Seat c = enter(room, DECODE, "c");
    assertThat(room.first(a)).isTrue();
    assertThat(room.first(b)).isFalse();

    room.leave(b);
    assertThat(turns).as("it was not the first").isEmpty();
    room.leave(a);
    assertThat(turns).containsExactly("c");
    assertThat(room.first(c)).isTrue();
    room.leave(a);
    assertThat(turns).containsExactly("c");
    room.leave(c);
    assertThat(room.waiting()).isZero();
    assertThat(room.before("m", null)).isEmpty();
  }

  @Test
  void queuesDoNotBlockEachOther() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, PREFILL, "a");
    assertThat(room.before("n", null)).isEmpty();
    assertThat(room.before("m", null)).containsExactly(Role.PREFILL);
    Seat b = enter(room, new SlotLine("n", Role.PREFILL), "b");
    Seat c = enter(room, DECODE, "c");
    assertThat(List.of(a, b, c)).allMatch(room::first);
  }

  @Test
  void onlyEarlierRequestsAreBefore() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, PREFILL, "a");
    Seat b = enter(room, DECODE, "b");
    Seat c = enter(room, PREFILL, "c");
    assertThat(room.before("m", a)).isEmpty();
    assertThat(room.before("m", b)).containsExactly(Role.PREFILL);
    assertThat(room.before("m", c)).containsExactly(Role.PREFILL, Role.DECODE);
    assertThat(room.before("m", null)).containsExactly(Role.PREFILL, Role.DECODE);
  }

  @Test
  void changeOfTheQueueKeepsTheOrderOfArrival() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, PREFILL, "a");
    Seat b = enter(room, DECODE, "b");
    Seat c = enter(room, PREFILL, "c");
    Seat d = enter(room, DECODE, "d");

    room.change(a, DECODE);
    assertThat(turns).as("the next one that waits for prefill").containsExactly("c");
    assertThat(room.first(a)).isTrue();
    assertThat(room.first(b)).isFalse();
    assertThat(room.first(c)).isTrue();
    room.change(a, DECODE);
    room.change(b, PREFILL);
    assertThat(turns).as("neither was the first of the line it left").containsExactly("c");
    assertThat(room.first(b)).isTrue();
    assertThat(room.first(c)).isFalse();
    assertThat(room.waiting()).isEqualTo(4);

    room.leave(b);
    assertThat(turns).containsExactly("c", "c");
    room.leave(a);
    assertThat(turns).containsExactly("c", "c", "d");
    room.leave(c);
    room.leave(d);
    assertThat(room.waiting()).isZero();
    assertThat(room.before("m", null)).isEmpty();
  }

  /** All requests that wait for prefill need decode too, so each would only return. */
  @Test
  void requestThatWaitsForPrefillStaysIfEarlierOnesWaitForDecode() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, DECODE, "a");
    Seat b = enter(room, PREFILL, "b");
    enter(room, PREFILL, "c");

    room.change(b, DECODE);
    assertThat(turns).isEmpty();
    assertThat(room.first(b)).isTrue();
    room.leave(a);
    room.change(b, DECODE);
    assertThat(turns).containsExactly("c");
    assertThat(room.first(b)).isTrue();
  }

  @Test
  void requestThatWaitsForDecodeMovesBehindEarlierOnesThatWaitForPrefill() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, PREFILL, "a");
    Seat b = enter(room, DECODE, "b");
    enter(room, DECODE, "c");

    room.change(b, PREFILL);
    assertThat(turns).containsExactly("c");
    assertThat(room.first(b)).isFalse();
    room.leave(a);
    assertThat(turns).containsExactly("c", "b");
  }

  @Test
  void seatThatHasLeftCannotChangeItsQueue() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, PREFILL, "a");
    room.leave(a);
    room.change(a, DECODE);
    assertThat(room.before("m", null)).isEmpty();
  }

  @Test
  void theTotalOfAllQueuesIsBounded() {
    WaitingRoom room = new WaitingRoom(2);
    Seat a = enter(room, PREFILL, "a");
    enter(room, DECODE, "b");
    assertThat(room.enter(new SlotLine("n", Role.REGULAR), () -> {})).isNull();
    room.change(a, DECODE);
    assertThat(room.waiting()).isEqualTo(2);
    assertThat(room.enter(PREFILL, () -> {})).isNull();
    room.leave(a);
    assertThat(room.enter(PREFILL, () -> {})).isNotNull();
  }
}
