package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.tool.replay.run.SimulationSettings.Announcements;
import io.pointsman.tool.sim.cache.PromptOrigin;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class EventLineTest {
  private static final long SECOND = 1_000_000_000L;

  private final SimulatedTime time = new SimulatedTime();
  private final List<Object> received = new ArrayList<>();
  private final KvFeed feed =
      new KvFeed() {
        @Override
        public void apply(Worker worker, int rank, Iterable<? extends KvEvent> events) {
          events.forEach(received::add);
        }

        @Override
        public void reset(Worker worker, int rank, Cause cause) {
          received.add("reset");
        }

        @Override
        public void restarted(Worker worker, int rank, long lostUntil) {
          received.add("restarted");
        }

        @Override
        public void live(Worker worker, int rank, boolean live) {
          received.add("live");
        }
      };

  private EventLine line(double lateSeconds, double lost) {
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, time::nanos);
    Worker worker = fleet.add(WorkerSpec.of("http://e"));
    Announcements announcements = new Announcements(lateSeconds, lost);
    return new EventLine(worker, feed, time, 2, announcements, new SplittableRandom(1));
  }

  @Test
  void eventsContainTokensAndTheParentBlock() {
    EventLine line = line(0, 0);
    PromptOrigin origin = new PromptOrigin(new int[] {1, 2, 3, 4, 5, 6, 7}, null, "");
    line.stored(origin, new long[] {10, 20, 30}, 1, 3);
    line.removed(20);
    line.deliver();

    assertThat(received).hasSize(3).first().isEqualTo("live");
    KvEvent.Stored stored = (KvEvent.Stored) received.get(1);
    assertThat(stored.blocks()).containsExactly(20, 30);
    assertThat(stored.parent()).isEqualTo(10);
    assertThat(stored.tokens()).containsExactly(3, 4, 5, 6);
    assertThat(((KvEvent.Removed) received.get(2)).blocks()).containsExactly(20);
  }

  @Test
  void delayedEventsArriveAfterTheirDelay() {
    EventLine line = line(1, 0);
    line.removed(1);
    time.goTo(SECOND - 1);
    line.deliver();
    assertThat(received).hasSize(1);

    time.goTo(SECOND);
    line.deliver();
    assertThat(received).hasSize(2);
  }

  @Test
  void afterALossOnlyNewEventsCount() {
    EventLine line = line(0, 0.3);
    for (int i = 1; i <= 1000; i++) {
      time.goTo(i);
      line.removed(i);
      line.deliver();
    }
    int resets = Collections.frequency(received, "reset");
    assertThat(received.size() - 1 - resets).isBetween(650, 750);
    assertThat(resets).isBetween(150, 270);
    for (int i = 0; i < received.size(); i++) {
      if (received.get(i).equals("reset")) {
        assertThat(received.get(i + 1)).isInstanceOf(KvEvent.Removed.class);
      }
    }
  }
}
