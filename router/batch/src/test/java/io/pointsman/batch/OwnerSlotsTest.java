package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OwnerSlotsTest {
  private final OwnerSlots slots = new OwnerSlots(3, () -> 2);
  private final List<String> entered = new CopyOnWriteArrayList<>();

  private Thread arrives(String owner) throws InterruptedException {
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    slots.enter(owner);
                    entered.add(owner);
                  } catch (InterruptedException e) {
                    entered.add("interrupted");
                  }
                });
    while (thread.isAlive() && thread.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    return thread;
  }

  @Test
  void anOwnerWithItsShareIsPassedOver() throws Exception {
    for (int i = 0; i < 2; i++) {
      arrives("alice").join();
    }
    Thread waits = arrives("alice");
    assertThat(slots.tryEnter("alice")).isFalse();

    arrives("bob").join();
    assertThat(slots.wanted("bob")).as("alice has her share").isFalse();
    assertThat(slots.wanted("alice")).isTrue();
    Thread last = arrives("carol");
    assertThat(slots.wanted("bob")).isTrue();
    assertThat(entered).containsExactly("alice", "alice", "bob");
    slots.leave("bob");
    last.join();
    assertThat(entered).containsExactly("alice", "alice", "bob", "carol");

    slots.leave("alice");
    waits.join();
    assertThat(entered).endsWith("carol", "alice");
  }

  @Test
  void theFirstToArriveIsTheFirstToEnter() throws Exception {
    for (String owner : List.of("a", "b", "c")) {
      assertThat(slots.tryEnter(owner)).isTrue();
    }
    assertThat(slots.tryEnter("d")).isFalse();
    Thread first = arrives("d");
    Thread gone = arrives("e");
    Thread third = arrives("a");
    gone.interrupt();
    gone.join();
    slots.leave("b");
    first.join();
    slots.leave("c");
    third.join();
    assertThat(entered).containsExactly("interrupted", "d", "a");
  }
}
