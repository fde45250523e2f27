package io.pointsman.proxy.quota;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Limits of clients: the amounts in a time, their return, and the bound on accounts. */
class ClientLimiterTest {
  private static final ClientIdentity ALICE = client("alice", ClientQuotas.NONE);
  private static final ClientIdentity BOB = client("bob", ClientQuotas.NONE);

  private final FakeClock clock = new FakeClock();
  private final ClientLimiter limiter = new ClientLimiter(clock::nanos);
  private final FleetSnapshot fleet = fleet("a", "b");

  private FleetSnapshot fleet(String... models) {
    Fleet made = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
    made.add(WorkerSpec.of("http://w:1").withModels(Set.of(models)));
    return made.snapshot();
  }

  private static ClientIdentity client(String name, ClientQuotas quotas) {
    return new ClientIdentity(ClientIdentity.Kind.KEY, name, Set.of(), quotas, null);
  }

  private static ClientQuota requests(int perMinute) {
    return new ClientQuota(0, perMinute, 0, 0, 0, 0);
  }

  private QuotaAnswer enter(ClientIdentity client, String model, long prompt, ClientQuota quota) {
    return limiter.enter(client, model, fleet, prompt, quota);
  }

  private QuotaAnswer.Admitted admitted(long prompt, ClientQuota quota) {
    QuotaAnswer answer = enter(ALICE, "a", prompt, quota);
    assertThat(answer).isInstanceOf(QuotaAnswer.Admitted.class);
    return (QuotaAnswer.Admitted) answer;
  }

  private QuotaAnswer.Refused refused(long prompt, ClientQuota quota) {
    QuotaAnswer answer = enter(ALICE, "a", prompt, quota);
    assertThat(answer).isInstanceOf(QuotaAnswer.Refused.class);
    return (QuotaAnswer.Refused) answer;
  }

  @Test
  void withoutLimitsNothingIsKept() {
    assertThat(enter(ALICE, "a", 9, ClientQuota.NONE)).isSameAs(QuotaAnswer.UNLIMITED);
    assertThat(limiter.size()).isZero();
  }

  @Test
  void requestsReturnEvenlyOverTheMinute() {
    for (int i = 0; i < 6; i++) {
      admitted(0, requests(6));
    }
    QuotaAnswer.Refused refused = refused(0, requests(6));
    assertThat(refused.limit()).isEqualTo(ClientLimit.REQUESTS_PER_MINUTE);
    assertThat(refused.most()).isEqualTo(6);
    assertThat(Duration.ofNanos(refused.nanos())).isEqualTo(Duration.ofSeconds(10));
    clock.advance(Duration.ofSeconds(10));
    admitted(0, requests(6));
    refused(0, requests(6));
  }

  @Test
  void clientsAndModelsDoNotShare() {
    admitted(0, requests(1));
    refused(0, requests(1));
    assertThat(enter(BOB, "a", 0, requests(1))).isInstanceOf(QuotaAnswer.Admitted.class);
    assertThat(enter(ALICE, "b", 0, requests(1))).isInstanceOf(QuotaAnswer.Admitted.class);
    ClientIdentity address = new ClientIdentity(ClientIdentity.Kind.ADDRESS, "alice", Set.of());
    assertThat(enter(address, "a", 0, requests(1))).isInstanceOf(QuotaAnswer.Admitted.class);
  }

  @Test
  void inventedModelsAreOne() {
    assertThat(enter(ALICE, "x1", 0, requests(1))).isInstanceOf(QuotaAnswer.Admitted.class);
    assertThat(enter(ALICE, "x2", 0, requests(1))).isInstanceOf(QuotaAnswer.Refused.class);
  }

  private QuotaAnswer unnamed(FleetSnapshot of, ClientIdentity client, ClientQuota quota) {
    return limiter.enter(client, null, of, 0, quota);
  }

  @Test
  void aRequestWithoutAModelIsOneForTheModelOfTheFleet() {
    FleetSnapshot one = fleet("a");
    admitted(0, requests(1));
    assertThat(unnamed(one, ALICE, requests(1))).isInstanceOf(QuotaAnswer.Refused.class);
    assertThat(unnamed(one, BOB, requests(1))).isInstanceOf(QuotaAnswer.Admitted.class);
    assertThat(enter(BOB, "a", 0, requests(1))).isInstanceOf(QuotaAnswer.Refused.class);
  }

  @Test
  void aRequestWithoutAModelHasTheLimitsOfSingleModels() {
    ClientQuota own = requests(1);
    ClientIdentity carol =
        client("carol", new ClientQuotas(ClientQuota.INHERITED, Map.of("b", own)));
    // An adapter "a" of the model "b".
    assertThat(unnamed(fleet, carol, ClientQuota.NONE)).isInstanceOf(QuotaAnswer.Admitted.class);
    assertThat(unnamed(fleet, carol, ClientQuota.NONE)).isInstanceOf(QuotaAnswer.Refused.class);
    assertThat(enter(carol, "b", 0, ClientQuota.NONE)).isInstanceOf(QuotaAnswer.Refused.class);
    assertThat(enter(carol, "a", 0, ClientQuota.NONE)).isSameAs(QuotaAnswer.UNLIMITED);
  }

  @Test
  void placesReturnWithTheEndOfTheRequest() {
    ClientQuota two = new ClientQuota(2, 0, 0, 0, 0, 0);
    QuotaAnswer.Admitted first = admitted(0, two);
    admitted(0, two);
    QuotaAnswer.Refused refused = refused(0, two);
    assertThat(refused.limit()).isEqualTo(ClientLimit.CONCURRENCY);
    assertThat(refused.headers()).isEmpty();
    first.end(0, 0, clock.nanos());
    admitted(0, two);
    refused(0, two);
  }

  @Test
  void theCountOfTheEngineReplacesTheEstimate() {
    ClientQuota quota = new ClientQuota(0, 0, 600, 0, 0, 0);
    QuotaAnswer.Admitted half = admitted(300, quota);
    refused(301, quota);
    half.end(100, 50, clock.nanos());
    QuotaAnswer.Admitted most = admitted(500, quota);
    most.end(800, 0, clock.nanos());
    QuotaAnswer.Refused refused = refused(1, quota);
    assertThat(refused.limit()).isEqualTo(ClientLimit.PROMPT_TOKENS_PER_MINUTE);
    // 300 tokens beyond the limit, and one more: 10 tokens return in a second.
    assertThat(Duration.ofNanos(refused.nanos())).isEqualTo(Duration.ofMillis(30_100));
  }

  @Test
  void aPromptAboveTheLimitNeedsAnUnusedMinute() {
    ClientQuota quota = new ClientQuota(0, 0, 600, 0, 0, 0);
    admitted(5000, quota);
    QuotaAnswer.Refused refused = refused(5000, quota);
    assertThat(Duration.ofNanos(refused.nanos())).isEqualTo(Duration.ofSeconds(500));
  }

  @Test
  void answersBeyondTheLimitDelayTheNextRequest() {
    ClientQuota quota = new ClientQuota(0, 0, 0, 60, 0, 0);
    QuotaAnswer.Admitted one = admitted(1, quota);
    QuotaAnswer.Admitted other = admitted(1, quota);
    assertThat(one.ofTokens()).isTrue();
    one.end(1, 60, clock.nanos());
    other.end(1, 30, clock.nanos());
    QuotaAnswer.Refused refused = refused(1, quota);
    assertThat(refused.limit()).isEqualTo(ClientLimit.OUTPUT_TOKENS_PER_MINUTE);
    assertThat(Duration.ofNanos(refused.nanos())).isEqualTo(Duration.ofSeconds(31));
  }

  @Test
  void budgetsOfADayCountPromptsAndAnswers() {
    ClientQuota quota = new ClientQuota(0, 0, 0, 0, 3, 86_400);
    admitted(400, quota).end(400, 86_000, clock.nanos());
    QuotaAnswer.Refused refused = refused(1, quota);
    assertThat(refused.limit()).isEqualTo(ClientLimit.TOKENS_PER_DAY);
    assertThat(Duration.ofNanos(refused.nanos())).isEqualTo(Duration.ofSeconds(1));
    clock.advance(Duration.ofSeconds(10));
    admitted(1, quota).end(1, 1, clock.nanos());
    admitted(1, quota).end(1, 1, clock.nanos());
    assertThat(refused(1, quota).limit()).isEqualTo(ClientLimit.REQUESTS_PER_DAY);
  }

  @Test
  void ownLimitsPrecedeThoseOfAllAndThoseOfAModelPrecedeBoth() {
    ClientQuota own = new ClientQuota(-1, 2, -1, -1, -1, -1);
    ClientQuota ofB = new ClientQuota(-1, 0, -1, -1, -1, -1);
    ClientIdentity carol = client("carol", new ClientQuotas(own, Map.of("b", ofB)));
    ClientQuota defaults = new ClientQuota(1, 9, 0, 0, 0, 0);
    assertThat(carol.quotas().of("a", defaults)).isEqualTo(new ClientQuota(1, 2, 0, 0, 0, 0));
    assertThat(carol.quotas().of("b", defaults)).isEqualTo(new ClientQuota(1, 0, 0, 0, 0, 0));
    assertThat(ALICE.quotas().of("a", defaults)).isEqualTo(defaults);
  }

  @Test
  void aChangedLimitKeepsTheUse() {
    for (int i = 0; i < 6; i++) {
      admitted(0, requests(6));
    }
    QuotaAnswer.Refused refused = refused(0, requests(60));
    assertThat(Duration.ofNanos(refused.nanos())).isEqualTo(Duration.ofSeconds(1));
    assertThat(admitted(0, new ClientQuota(9, 0, 0, 0, 0, 0)).headers()).isEmpty();
  }

  @Test
  void headersShowTheLimitThatIsUsedMost() {
    ClientQuota quota = new ClientQuota(0, 60, 600, 60, 0, 0);
    assertThat(admitted(60, quota).headers().lines())
        .containsExactly(
            "x-ratelimit-limit-requests: 60",
            "x-ratelimit-remaining-requests: 59",
            "x-ratelimit-reset-requests: 1s",
            "x-ratelimit-limit-tokens: 600",
            "x-ratelimit-remaining-tokens: 540",
            "x-ratelimit-reset-tokens: 6s");
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0ms",
    "1, 1ms",
    "120000000, 120ms",
    "1000000000, 1s",
    "6000000001, 7s",
    "360000000000, 6m0s",
    "82801000000000, 23h0m1s",
  })
  void timesAreThoseOfOpenAi(long nanos, String text) {
    StringBuilder time = new StringBuilder();
    QuotaHeaders.appendTime(time, nanos);
    assertThat(time).hasToString(text);
  }

  @Test
  void accountsAreBoundedAndThoseInUseStay() {
    List<QuotaAnswer.Admitted> held = new ArrayList<>();
    ClientQuota quota = new ClientQuota(1, 1, 0, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
      held.add((QuotaAnswer.Admitted) enter(client("held" + i, ClientQuotas.NONE), "a", 0, quota));
    }
    for (int i = 0; i < 3 * ClientLimiter.MOST_ACCOUNTS; i++) {
      QuotaAnswer answer = enter(client("c" + i, ClientQuotas.NONE), "a", 0, quota);
      ((QuotaAnswer.Admitted) answer).end(0, 0, clock.nanos());
    }
    assertThat(limiter.size()).isLessThanOrEqualTo(ClientLimiter.MOST_ACCOUNTS + 3);
    assertThat(enter(client("held0", ClientQuotas.NONE), "a", 0, quota))
        .isInstanceOf(QuotaAnswer.Refused.class);
    held.forEach(each -> each.end(0, 0, clock.nanos()));
  }

  @Test
  void accountsThatAreAsGoodAsNewMakeRoom() {
    for (int i = 0; i < 10; i++) {
      QuotaAnswer answer = enter(client("c" + i, ClientQuotas.NONE), "a", 0, requests(60));
      ((QuotaAnswer.Admitted) answer).end(0, 0, clock.nanos());
    }
    clock.advance(Duration.ofMinutes(1));
    for (int i = 0; i < 5; i++) {
      enter(client("d" + i, ClientQuotas.NONE), "a", 0, requests(60));
    }
    assertThat(limiter.size()).isEqualTo(5);
  }
}
