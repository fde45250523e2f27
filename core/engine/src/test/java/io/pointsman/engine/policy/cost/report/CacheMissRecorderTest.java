package io.pointsman.engine.policy.cost.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.PickExplanation;
import io.pointsman.engine.policy.PickExplanation.Loss;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostFleet;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.Prompt;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** All reasons of cache misses. Prompts of 100 blocks: 1,600 tokens. */
class CacheMissRecorderTest {
  private final CostFleet on = new CostFleet(4, CostSettings.DEFAULTS);

  private void assertLost(CostFleet on, CacheMiss reason, int tokens) {
    assertThat(on.lost.tokens(reason)).as(reason.name()).isEqualTo(tokens);
    assertThat(on.lost.hits(reason)).as(reason.name()).isEqualTo(1);
  }

  /** Places a prompt and resets the sums. */
  private void assertLoses(CostFleet on, PrefixBlocks prompt, CacheMiss reason, int tokens) {
    long lostBefore = on.lost.tokens(reason);
    long before = on.lostTokens();
    on.served(prompt, 0);
    assertThat(on.lost.tokens(reason) - lostBefore).as(reason.name()).isEqualTo(tokens);
    assertThat(on.lostTokens() - before).as("all reasons").isEqualTo(tokens);
  }

  /** A connection is refused; a minute later the worker is healthy. */
  private static void refused(CostFleet on, PrefixBlocks prompt) {
    Lease lease = on.place(prompt);
    lease.failed(Failure.CONNECT);
    on.fleet.clock.advance(Duration.ofMinutes(1));
    lease.worker().probed(true);
  }

  @Test
  void nobodyWasSentIt() {
    on.served(Prompt.of(1, 100), 0);

    assertLost(on, CacheMiss.NEVER_SEEN, 1600);
    assertThat(on.lostTokens()).isEqualTo(1600);
    assertThat(on.lost.promptTokens()).isEqualTo(1600);
    assertThat(on.lost.expectedTokens()).isZero();
    assertThat(on.lost.cachedTokens()).isZero();
  }

  @Test
  void foundHitsAreNotLost() {
    on.served(Prompt.of(1, 100), 0);
    on.served(Prompt.of(1, 100), 1584);

    assertThat(on.lostTokens()).isEqualTo(1600);
    assertThat(on.lost.expectedTokens()).isEqualTo(1600);
    assertThat(on.lost.cachedTokens()).isEqualTo(1584);
  }

  @Test
  void newEndOfAKnownPromptWasNeverSeen() {
    on.served(Prompt.of(1, 50), 0);
    on.served(Prompt.of(1, 50, 2, 50), 800);

    // 50 blocks of each were new.
    assertThat(on.lost.tokens(CacheMiss.NEVER_SEEN)).isEqualTo(800 + 800);
    assertThat(on.lostTokens()).isEqualTo(1600);
  }

  @Test
  void expectedHitCountsAsFoundIfTheEngineReportsNone() {
    on.served(Prompt.of(1, 100), -1);
    on.served(Prompt.of(1, 100), -1);

    assertThat(on.lost.cachedTokens()).isEqualTo(1600);
    assertThat(on.lostTokens()).isEqualTo(1600);
  }

  @Test
  void workerNeededTheRoom() {
    CostFleet small = new CostFleet(4, CostSettings.DEFAULTS.withKvTokens(4096));
    small.served(Prompt.of(1, 100), 0);
    for (int i = 0; i < 16; i++) {
      small.served(Prompt.of(100 + i, 150), 0);
    }

    assertLoses(small, Prompt.of(1, 100), CacheMiss.EVICTED, 1600);
  }

  @Test
  void workerNeededTheRoomEarlierThanThought() {
    CostFleet small = new CostFleet(1, CostSettings.DEFAULTS.withKvTokens(4096));
    for (int i = 0; i < 5; i++) {
      small.served(Prompt.of(i, 100), 0);
    }
    assertThat(small.place(Prompt.of(3, 100)).cachedTokens()).isEqualTo(1600);

    small.served(Prompt.of(4, 100), 1600);
    small.served(Prompt.of(5, 100), 0);
    assertLoses(small, Prompt.of(4, 100), CacheMiss.EVICTED, 1600);
  }

  /** The prefix was used a moment ago, so it was not evicted. */
  @Test
  void engineOfAFullWorkerMakesOtherTokensOfThePrompt() {
    CostFleet small = new CostFleet(1, CostSettings.DEFAULTS.withKvTokens(4096));
    for (int i = 0; i < 5; i++) {
      small.served(Prompt.of(i, 100), 0);
    }

    small.served(Prompt.of(4, 100), 160);

    assertLost(small, CacheMiss.TOKENS_DIFFER, 1440);
  }

  @Test
  void workerHasLeft() {
    Worker holder = on.served(Prompt.of(1, 100), 0).worker();
    on.fleet.fleet.remove(holder.id());

    assertLoses(on, Prompt.of(1, 100), CacheMiss.WORKER_GONE, 1600);
  }

  @Test
  void workerRefusesConnections() {
    on.served(Prompt.of(1, 100), 0);
    refused(on, Prompt.of(1, 100));
    refused(on, Prompt.of(1, 100));

    assertLoses(on, Prompt.of(1, 100), CacheMiss.WORKER_GONE, 1600);
  }

  /** The network or a busy engine may be the reason. */
  @Test
  void connectionsThatFailTogetherAreNoNewStart() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), 0);
    List<Lease> together = List.of(one.place(Prompt.of(1, 100)), one.place(Prompt.of(2, 100)));
    one.fleet.clock.advance(Duration.ofSeconds(1));
    together.forEach(each -> each.failed(Failure.CONNECT));
    one.fleet.clock.advance(Duration.ofMinutes(1));
    one.fleet.worker(0).probed(true);

    assertThat(one.place(Prompt.of(1, 100)).cachedTokens()).isEqualTo(1600);
  }

  /** An answer in one piece reports no first token, so its prompt counts as computed. */
  @Test
  void promptThatNeverReachedItsWorkerIsNotCached() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    Lease lease =
        one.place(
            RoutingRequest.builder().model(TestFleet.MODEL).prefix(Prompt.of(1, 100)).stream(false)
                .build());
    one.fleet.clock.advance(Duration.ofSeconds(5));
    lease.failed(Failure.CONNECT);
    one.fleet.worker(0).probed(true);

    assertThat(one.place(Prompt.of(1, 100)).cachedTokens()).isZero();
  }

  @Test
  void workerThatRefusesAConnectionAndThenAProbeHasStartedAnew() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), -1);
    one.fleet.clock.advance(Duration.ofSeconds(1));
    one.place(Prompt.of(2, 100)).failed(Failure.CONNECT);
    one.fleet.worker(0).probed(false);
    one.fleet.clock.advance(Duration.ofMinutes(1));
    one.fleet.worker(0).probed(true);

    assertThat(one.place(Prompt.of(1, 100)).cachedTokens()).isZero();
  }

  /** Each decision checks one worker, in turn. */
  @Test
  void restartsAreNoticedInLargerFleetsToo() {
    on.served(Prompt.of(1, 100), -1);
    on.fleet.clock.advance(Duration.ofSeconds(1));
    Lease refused = on.place(Prompt.of(1, 100));
    refused.failed(Failure.CONNECT);
    refused.worker().probed(false);
    refused.worker().probed(true);
    for (int i = 0; i < 4; i++) {
      on.served(Prompt.of(10 + i, 100), -1);
    }

    assertThat(on.place(Prompt.of(1, 100)).cachedTokens()).isZero();
  }

  /** The network may have been interrupted. */
  @Test
  void workerWithLateProbesKeepsItsCachedPrompts() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), -1);
    one.fleet.clock.advance(Duration.ofSeconds(1));
    one.place(Prompt.of(2, 100)).failed(Failure.CONNECT);
    one.fleet.worker(0).probes().silent();
    one.fleet.clock.advance(Duration.ofMinutes(1));
    one.fleet.worker(0).probed(true);

    assertThat(one.place(Prompt.of(1, 100)).cachedTokens()).isEqualTo(1600);
  }

  @Test
  void workerThatFindsNothingAfterAnOutageHasStartedAnew() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), 0);
    one.served(Prompt.of(2, 100), 0);
    one.fleet.kill(one.fleet.worker(0));
    for (int i = 0; i < 10; i++) {
      one.fleet.worker(0).probed(true);
    }
    one.served(Prompt.of(3, 100), -1);

    assertLoses(one, Prompt.of(1, 100), CacheMiss.WORKER_GONE, 1600);
    assertThat(one.place(Prompt.of(2, 100)).cachedTokens()).isZero();
  }

  @Test
  void workerThatFindsNothingAfterAFailedConnectionHasStartedAnew() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), 0);
    one.served(Prompt.of(2, 100), 0);
    refused(one, Prompt.of(1, 100));

    assertLoses(one, Prompt.of(1, 100), CacheMiss.WORKER_GONE, 1600);
    assertLoses(one, Prompt.of(2, 100), CacheMiss.WORKER_GONE, 1600);
  }

  @Test
  void workerThatFindsItsPromptsAfterAFailedConnectionHasLivedOn() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), 0);
    refused(one, Prompt.of(1, 100));
    one.served(Prompt.of(1, 100), 1584);
    refused(one, Prompt.of(1, 100));

    assertThat(one.place(Prompt.of(1, 100)).cachedTokens()).isEqualTo(1600);
  }

  @Test
  void responsesWithoutCacheCountsEndTheDoubtToo() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), -1);
    refused(one, Prompt.of(1, 100));
    one.served(Prompt.of(1, 100), -1);
    refused(one, Prompt.of(1, 100));

    assertThat(one.place(Prompt.of(1, 100)).cachedTokens()).isEqualTo(1600);
  }

  @Test
  void workerIsNotWell() {
    Worker holder = on.served(Prompt.of(1, 100), 0).worker();
    on.fleet.kill(holder);

    assertLoses(on, Prompt.of(1, 100), CacheMiss.WORKER_GONE, 1600);
  }

  /** An engine may not find a prefix that it computes in the same step. */
  @Test
  void siblingsThatDoNotFindEachOtherAreNoNewStart() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(2, 100), 0);
    List<Lease> siblings = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      siblings.add(one.place(Prompt.of(1, 100)));
    }
    assertThat(siblings.getLast().cachedTokens()).isPositive();
    siblings.forEach(each -> one.serve(each, 1600, 0));

    assertThat(one.lost.tokens(CacheMiss.WORKER_GONE)).isZero();
    assertThat(one.place(Prompt.of(2, 100)).cachedTokens()).isPositive();
  }

  @Test
  void workerThatFindsNothingAnyMoreHasStartedAnew() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    PrefixBlocks old = Prompt.of(2, 100);
    one.served(old, 0);
    one.served(Prompt.of(1, 100), 0);
    one.served(Prompt.of(1, 100), 1599);
    for (int i = 0; i < 3; i++) {
      assertLoses(one, Prompt.of(1, 100), CacheMiss.TOKENS_DIFFER, 1600);
    }

    assertLoses(one, Prompt.of(1, 100), CacheMiss.WORKER_GONE, 1600);
    assertLoses(one, old, CacheMiss.WORKER_GONE, 1600);
    // The new engine has computed this four times.
    long lost = one.lostTokens();
    one.served(Prompt.of(1, 100), 1599);
    assertThat(one.lostTokens()).isEqualTo(lost);
  }

  @Test
  void holderHasTooMuchToDo() {
    Worker holder = on.served(Prompt.of(1, 64), 0).worker();
    List<Lease> elsewhere = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Lease lease = on.place(Prompt.of(1, 64, 100 + i, 4000));
      if (lease.worker() != holder) {
        elsewhere.add(lease);
      }
    }
    assertThat(elsewhere).isNotEmpty();
    on.serve(elsewhere.getFirst(), 4064 * 16, 0);

    assertLost(on, CacheMiss.LOAD, 1024);
  }

  @Test
  void holderIsAtItsLimit() {
    Worker holder = on.served(Prompt.of(1, 100), 0).worker();
    holder.rest(Duration.ofSeconds(10).toNanos());

    assertLoses(on, Prompt.of(1, 100), CacheMiss.LOAD, 1600);
  }

  @Test
  void knownUnderAnotherAdapterOrSaltOnly() {
    on.served(Prompt.of(1, 100), 0);

    assertLoses(on, Prompt.salted(8, 1, 100), CacheMiss.OTHER_SALT, 1600);
    // Its own salt is known from here on.
    on.served(Prompt.salted(8, 1, 100), 1600);
    assertThat(on.lostTokens()).isEqualTo(3200);
  }

  @Test
  void newWorkerTakesItsPart() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    Worker holder = one.served(Prompt.of(1, 100), 0).worker();
    one.served(Prompt.of(2, 100), 0);
    one.fleet.clock.advance(Duration.ofMinutes(2));
    one.fleet.add(TestFleet.spec("late", TestFleet.MODEL));
    holder.rest(Duration.ofMinutes(5).toNanos());

    assertLoses(one, Prompt.of(1, 100), CacheMiss.NEW_WORKER, 1600);
    one.fleet.clock.advance(Duration.ofMinutes(1));
    assertLoses(one, Prompt.of(2, 100), CacheMiss.LOAD, 1600);
  }

  @Test
  void engineMakesOtherTokensOfThePrompt() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.served(Prompt.of(1, 100), 0);
    one.served(Prompt.of(1, 100), 160);

    assertLost(one, CacheMiss.TOKENS_DIFFER, 1440);
  }

  @Test
  void failedRequestsAreNoCacheMisses() {
    on.place(Prompt.of(1, 100)).failed(Failure.ERROR);
    on.place(Prompt.of(1, 100)).ignored();

    assertThat(on.lostTokens()).isZero();
    assertThat(on.lost.promptTokens()).isZero();
  }

  @Test
  void notesOfAnExplainedRequestShowItsLosses() {
    on.served(Prompt.of(1, 50), 0);
    RoutingRequest plain = CostFleet.request(Prompt.of(1, 50, 3, 50));
    on.serve(on.place(plain), 1600, 800);
    on.explains = true;
    RoutingRequest explained = CostFleet.request(Prompt.of(1, 50, 2, 50));
    on.serve(on.place(explained), 1600, 800);

    assertThat(plain.explanation()).isNull();
    assertThat(explained.explanation())
        .extracting(PickExplanation::losses)
        .isEqualTo(List.of(new Loss(CacheMiss.NEVER_SEEN, 800)));
  }
}
