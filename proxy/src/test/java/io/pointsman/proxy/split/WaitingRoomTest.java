package io.pointsman.proxy.split;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.split.WaitingRoom.Seat;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class WaitingRoomTest {
  private final List<String> turns = new ArrayList<>();

  private Seat enter(WaitingRoom room, String line, String name) {
    return requireNonNull(room.enter(line, () -> turns.add(name)));
  }

  @Test
  void whoComesFirstHasItsTurnFirst() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, "m", "a");
    Seat b = enter(room, "m", "b");
    Seat c = enter(room, "m", "c");
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
    assertThat(room.occupied("m")).isFalse();
  }

  @Test
  void linesDoNotStandInEachOthersWay() {
    WaitingRoom room = new WaitingRoom(10);
    Seat a = enter(room, "m", "a");
    assertThat(room.occupied("n")).isFalse();
    Seat b = enter(room, "n", "b");
    assertThat(room.first(a)).isTrue();
    assertThat(room.first(b)).isTrue();
  }

  @Test
  void allLinesTogetherAreBounded() {
    WaitingRoom room = new WaitingRoom(2);
    Seat a = enter(room, "m", "a");
    enter(room, "n", "b");
    assertThat(room.enter("m", () -> {})).isNull();
    assertThat(room.waiting()).isEqualTo(2);
    room.leave(a);
    assertThat(room.enter("m", () -> {})).isNotNull();
  }
}
