package io.pointsman.engine.policy.kv;

import static io.pointsman.engine.kv.Announcer.batch;
import static io.pointsman.engine.kv.Announcer.prompt;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Requests;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.Announcer;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.prefix.TokenIds;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LoadAwarePolicyTest {
  private static final int[] PROMPT = prompt(1, 129);

  private final TestFleet fleet = TestFleet.of(3);
  private final KvIndex index = new KvIndex(8 << 20, 64, fleet.clock::nanos);
  private final Announcer announcer = new Announcer(16, 1);
  private final Worker holder = fleet.worker(0);

  private Picker picker(double weight) {
    fleet.pool().workers().forEach(worker -> index.live(worker, 0, true));
    index.apply(holder, 0, batch(announcer.stored(PROMPT)));
    PolicyParts parts =
        new PolicyParts(
            fleet.clock::nanos,
            fleet.random,
            64,
            PolicySettings.DEFAULTS.withKvAware(
                new KvAwareSettings(0, KvCredits.DEFAULTS, 1 << 20, weight)),
            new KvKnowledge(index, _ -> null));
    return Policies.create("load_aware", parts).policy().picker(fleet.pool());
  }

  private static RoutingRequest asking(int... ids) {
    return RoutingRequest.builder()
        .model(TestFleet.MODEL)
        .prefix(TokenIds.key(9, ids, ids.length, ids.length))
        .build();
  }

  private Worker pick(Picker picker, RoutingRequest request) {
    return requireNonNull(picker.pick(request, fleet.now()));
  }

  @Test
  void theCachedShareIsWeighedAgainstTheExcessOfLoad() {
    Picker picker = picker(1);
    // Cached: 128 of 129 tokens. With loads 2, 1, 1 the holder's excess is half of the mean.
    fleet.load(holder, 2);
    fleet.load(fleet.worker(1), 1);
    fleet.load(fleet.worker(2), 1);
    RoutingRequest request = asking(PROMPT);
    assertThat(pick(picker, request)).isSameAs(holder);
    assertThat(request.result().reason()).isEqualTo(PickReason.PREFIX_HIT);
    fleet.load(holder, 4);
    // Loads 6, 1, 1: the holder's score is 0.99 - 1.25, the others' 0.63.
    assertThat(pick(picker, asking(PROMPT))).isNotSameAs(holder);
  }

  @Test
  void withoutWeightOnlyTheCachedShareCounts() {
    Picker picker = picker(0);
    fleet.load(holder, 50);
    assertThat(pick(picker, asking(PROMPT))).isSameAs(holder);
  }

  @Test
  void anUncachedPromptFollowsItsSession() {
    Picker picker = picker(1);
    Set<Worker> used = new HashSet<>();
    for (int i = 0; i < 20; i++) {
      int[] ids = prompt(100 + i, 64);
      used.add(
          pick(
              picker,
              RoutingRequest.builder()
                  .model(TestFleet.MODEL)
                  .prefix(TokenIds.key(9, ids, ids.length, ids.length))
                  .affinity(new AffinityKey(AffinityKey.Kind.SESSION, "header:x-user", "u"))
                  .build()));
    }
    assertThat(used).hasSize(1);
  }

  @Test
  void anUncachedPromptWithoutASessionGoesByLoad() {
    Picker picker = picker(1);
    fleet.load(holder, 1);
    fleet.load(fleet.worker(2), 1);
    assertThat(pick(picker, asking(prompt(7, 64)))).isSameAs(fleet.worker(1));
    assertThat(pick(picker, Requests.bare())).isSameAs(fleet.worker(1));
  }
}
