package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.WaitFor;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Keys, retries and breakers. */
@Timeout(120)
@Tag("full")
class VllmRouterFailuresTest {
  private static final String BREAKER =
      "--policy round_robin --disable-retries --cb-failure-threshold 2 --cb-success-threshold 1"
          + " --cb-timeout-duration-secs ";

  /** Stays open longer than a test. */
  private static final String LASTING_BREAKER = BREAKER + 3600;

  /** Tries again within a test. */
  private static final String QUICK_BREAKER = BREAKER + 1;

  @SuppressWarnings("NullAway.Init")
  private MockWorker bad;

  @SuppressWarnings("NullAway.Init")
  private MockWorker good;

  @BeforeEach
  void start() throws IOException {
    bad = MockWorker.start("bad");
    good = MockWorker.start("good");
  }

  @AfterEach
  void stop() {
    bad.close();
    good.close();
  }

  @Test
  void aRequiredKeyIsForwardedToTheWorker() throws Exception {
    good.apiKey = "correct";
    try (LaunchedRouter router = LaunchedRouter.start("--policy round_robin", good)) {
      assertThat(router.complete("x").statusCode()).isEqualTo(401);
      assertThat(router.complete("x", "Authorization", "Bearer wrong").statusCode()).isEqualTo(401);
      assertThat(router.complete("x", "Authorization", "Bearer correct").statusCode())
          .isEqualTo(200);
    }
  }

  @Test
  void aWorkerThatAlwaysFailsIsHiddenByAnother() throws Exception {
    bad.status = 500;
    try (LaunchedRouter router = LaunchedRouter.start("--policy round_robin", bad, good)) {
      for (int i = 0; i < 30; i++) {
        assertThat(router.complete("p" + i).statusCode()).isEqualTo(200);
      }
      assertThat(bad.requests()).isPositive();
    }
  }

  @Test
  void aWorkerThatCrashesIsHiddenByAnother() throws Exception {
    bad.crashes = true;
    try (LaunchedRouter router = LaunchedRouter.start("--policy round_robin", bad, good)) {
      for (int i = 0; i < 10; i++) {
        assertThat(router.complete("p" + i).statusCode()).isEqualTo(200);
      }
    }
  }

  @Test
  void theLastWorkerStaysInService() throws Exception {
    bad.status = 500;
    try (LaunchedRouter router = LaunchedRouter.start(LASTING_BREAKER, bad)) {
      assertThat(router.complete("a").statusCode()).isEqualTo(500);
      assertThat(router.complete("b").statusCode()).isEqualTo(500);
      bad.status = 200;
      assertThat(router.complete("c").statusCode()).isEqualTo(200);
    }
  }

  /** Sends requests until the bad worker has failed two, which opens its breaker. */
  private void openBreaker(LaunchedRouter router) throws Exception {
    for (int i = 0; i < 4; i++) {
      router.complete("open" + i);
    }
    assertThat(bad.requests()).isEqualTo(2);
  }

  @Test
  void aBreakerClosesWhenTheWorkerHasRecovered() throws Exception {
    bad.status = 500;
    try (LaunchedRouter router = LaunchedRouter.start(QUICK_BREAKER, bad, good)) {
      openBreaker(router);
      bad.status = 200;
      WaitFor.until(
          "it serves again", WaitFor.LONG, () -> status(router) == 200 && bad.requests() > 4);
    }
  }

  @Test
  void aFailedTrialOpensTheBreakerAgain() throws Exception {
    bad.status = 500;
    try (LaunchedRouter router = LaunchedRouter.start(QUICK_BREAKER, bad, good)) {
      openBreaker(router);
      WaitFor.until(
          "a trial fails", WaitFor.LONG, () -> status(router) == 500 && bad.requests() == 3);
      assertThat(router.complete("open again").statusCode()).isEqualTo(200);
      assertThat(router.complete("open still").statusCode()).isEqualTo(200);
      assertThat(bad.requests()).isEqualTo(3);
    }
  }

  private static int status(LaunchedRouter router) {
    try {
      return router.complete("x").statusCode();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void withoutBreakersFailuresGoOn() throws Exception {
    bad.status = 500;
    try (LaunchedRouter router =
        LaunchedRouter.start(LASTING_BREAKER + " --disable-circuit-breaker", bad)) {
      for (int i = 0; i < 6; i++) {
        assertThat(router.complete("p" + i).statusCode()).isEqualTo(500);
      }
    }
  }

  @Test
  void eachWorkerHasItsOwnBreaker() throws Exception {
    bad.status = 500;
    try (LaunchedRouter router = LaunchedRouter.start(LASTING_BREAKER, bad, good)) {
      int failed = 0;
      for (int i = 0; i < 12; i++) {
        failed += router.complete("p" + i).statusCode() == 500 ? 1 : 0;
      }
      assertThat(failed).isEqualTo(2);
      assertThat(router.complete("last").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void wrongRequestsDoNotOpenBreakers() throws Exception {
    good.status = 400;
    try (LaunchedRouter router = LaunchedRouter.start(LASTING_BREAKER, good)) {
      for (int i = 0; i < 6; i++) {
        assertThat(router.complete("p" + i).statusCode()).isEqualTo(400);
      }
    }
  }

  @Test
  void aLargeBodyIsRefused() throws Exception {
    try (LaunchedRouter router =
        LaunchedRouter.start("--policy round_robin --max-payload-size 1048576", good)) {
      assertThat(router.complete("x".repeat(500_000)).statusCode()).isEqualTo(200);
      assertThat(router.complete("x".repeat(1_200_000)).statusCode()).isEqualTo(413);
    }
  }
}
