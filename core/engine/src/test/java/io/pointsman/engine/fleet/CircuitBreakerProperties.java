package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.CircuitBreaker.TrialTurn;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Random histories of requests, endings, probes and waits, compared with a simple model. */
class CircuitBreakerProperties {
  private static final Duration OPEN_FOR = Duration.ofSeconds(10);
  private static final Duration WINDOW = Duration.ofSeconds(15);

  @Property(tries = 500)
  void behavesLikeItsModel(
      @ForAll @IntRange(min = 1, max = 5) int failureThreshold,
      @ForAll @IntRange(min = 1, max = 3) int successThreshold,
      @ForAll @Size(max = 120) List<@IntRange(max = 8) Integer> steps) {
    BreakerSettings settings =
        new BreakerSettings(true, failureThreshold, successThreshold, OPEN_FOR, WINDOW);
    Run run = new Run(settings);
    for (int step : steps) {
      run.step(step);
      assertThat(run.breaker.state()).as("state").isEqualTo(run.model.state);
      assertThat(run.breaker.admits(run.clock.nanos()))
          .as("admits")
          .isEqualTo(run.model.admits(run.clock.nanos()));
      assertThat(run.probesUnderWay()).as("probes under way").isLessThanOrEqualTo(1);
    }
  }

  /** The breaker, its model, and the requests in flight; true means a probe. */
  private static final class Run {
    final FakeClock clock = new FakeClock();
    final Deque<Boolean> underWay = new ArrayDeque<>();
    final CircuitBreaker breaker;
    final Model model;

    Run(BreakerSettings settings) {
      breaker = new CircuitBreaker(settings, CircuitBreakerTest::open, () -> {});
      model = new Model(settings);
    }

    long probesUnderWay() {
      return breaker.state() == State.HALF_OPEN ? underWay.stream().filter(p -> p).count() : 0;
    }

    void step(int step) {
      switch (step) {
        case 0, 1 -> admit();
        case 2 -> clock.advance(Duration.ofSeconds(4));
        case 3 -> {
          breaker.reachable();
          model.reachable();
        }
        default -> end(step);
      }
    }

    private void admit() {
      TrialTurn admission = breaker.admit(clock.nanos());
      assertThat(admission).isEqualTo(model.admit(clock.nanos()));
      if (admission != TrialTurn.REFUSED) {
        underWay.add(admission == TrialTurn.PROBE);
      }
    }

    private void end(int step) {
      Boolean probe = step % 2 == 0 ? underWay.pollFirst() : underWay.pollLast();
      if (probe == null) {
        return;
      }
      long now = clock.nanos();
      switch (step) {
        case 4 -> {
          breaker.succeeded(probe);
          model.succeeded(probe);
        }
        case 5 -> {
          breaker.ignored(probe);
          model.ignored(probe);
        }
        default -> {
          Failure failure = step == 6 ? Failure.CONNECT : Failure.ERROR;
          breaker.failed(probe, failure, now);
          model.failed(probe, failure, now);
        }
      }
    }
  }

  /** One failure of a sequence. */
  private record Fault(Failure failure, long at) {}

  /** The documented rules, without concurrency or optimisation. */
  private static final class Model {
    private final BreakerSettings settings;
    private final Deque<Fault> row = new ArrayDeque<>();
    State state = State.CLOSED;
    private boolean probing;
    private int goodProbes;
    private long openedAt;
    private boolean refused;

    Model(BreakerSettings settings) {
      this.settings = settings;
    }

    boolean admits(long now) {
      return state == State.CLOSED
          || (state == State.OPEN && now - openedAt >= OPEN_FOR.toNanos())
          || (state == State.HALF_OPEN && !probing);
    }

    TrialTurn admit(long now) {
      if (!admits(now)) {
        return TrialTurn.REFUSED;
      }
      if (state == State.CLOSED) {
        return TrialTurn.ADMITTED;
      }
      goodProbes = state == State.OPEN ? 0 : goodProbes;
      state = State.HALF_OPEN;
      probing = true;
      return TrialTurn.PROBE;
    }

    void succeeded(boolean probe) {
      if (state == State.CLOSED) {
        row.clear();
      } else if (probe) {
        probing = false;
        goodProbes++;
        if (goodProbes == settings.successThreshold()) {
          state = State.CLOSED;
          row.clear();
        }
      }
    }

    void ignored(boolean probe) {
      probing = probing && !probe;
    }

    void failed(boolean probe, Failure failure, long now) {
      if (state == State.CLOSED) {
        Fault last = row.peekLast();
        if (last != null && now - last.at() > WINDOW.toNanos()) {
          row.clear();
        }
        row.add(new Fault(failure, now));
        long refusals = row.stream().filter(f -> f.failure() == Failure.CONNECT).count();
        double weight =
            row.size() - refusals + refusals * Math.ceil(settings.failureThreshold() / 2.0);
        if (weight >= settings.failureThreshold()) {
          open(failure, now);
        }
      } else if (probe) {
        open(failure, now);
      }
    }

    void reachable() {
      if (state == State.OPEN && refused) {
        state = State.HALF_OPEN;
        probing = false;
        goodProbes = 0;
      }
    }

    private void open(Failure failure, long now) {
      state = State.OPEN;
      openedAt = now;
      refused = failure == Failure.CONNECT;
      probing = false;
      row.clear();
    }
  }
}
