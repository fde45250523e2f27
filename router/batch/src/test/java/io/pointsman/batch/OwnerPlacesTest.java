package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OwnerPlacesTest {
  private final OwnerPlaces places = new OwnerPlaces(3, 2);
  private final List<String> entered = new CopyOnWriteArrayList<>();

  private Thread arrives(String owner) throws InterruptedException {
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .start(
                () -> {
                  try {
                    places.enter(owner);
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
    assertThat(places.tryEnter("alice")).isFalse();

    arrives("bob").join();
    assertThat(places.wanted("bob")).as("alice has her share").isFalse();
    assertThat(places.wanted("alice")).isTrue();
    Thread last = arrives("carol");
    assertThat(places.wanted("bob")).isTrue();
    assertThat(entered).containsExactly("alice", "alice", "bob");
    places.leave("bob");
    last.join();
    assertThat(entered).containsExactly("alice", "alice", "bob", "carol");

    places.leave("alice");
    waits.join();
    assertThat(entered).endsWith("carol", "alice");
  }

  @Test
  void theFirstToArriveIsTheFirstToEnter() throws Exception {
    for (String owner : List.of("a", "b", "c")) {
      assertThat(places.tryEnter(owner)).isTrue();
    }
    assertThat(places.tryEnter("d")).isFalse();
    Thread first = arrives("d");
    Thread gone = arrives("e");
    Thread third = arrives("a");
    gone.interrupt();
    gone.join();
    places.leave("b");
    first.join();
    places.leave("c");
    third.join();
    assertThat(entered).containsExactly("interrupted", "d", "a");
  }
}
