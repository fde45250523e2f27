package io.pointsman.tool.replay.peer;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.tool.replay.peer.TreePolicy.Rules;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The rules of routers that use their own placements: when a holder is followed, when it is
 * skipped, and how ties are broken. Prompts have ten blocks.
 */
class TreePolicyTest {
  private static final int BLOCKS = 10;
  private static final int BLOCK = 64;

  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, () -> 0);
  private final List<Worker> workers = new ArrayList<>();
  private RandomSource random = _ -> 0;

  private void workers(int... loads) {
    for (int i = 0; i < loads.length; i++) {
      WorkerSpec spec = WorkerSpec.of("http://w" + i).withModels(Set.of("m"));
      Worker worker = fleet.add(spec);
      worker.probed(true);
      workers.add(worker);
      for (int load = 0; load < loads[i]; load++) {
        lease(worker);
      }
    }
  }

  private static Lease lease(Worker worker) {
    return requireNonNull(worker.tryLease(0, 0, 0, (_, _) -> {}), "lease");
  }

  /** A prompt with {@code shared} common first blocks. */
  private static RoutingRequest prompt(long number, int shared) {
    long[] hashes = new long[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
      hashes[i] = i < shared ? 1000 + i : 1_000_000 * number + i;
    }
    int tokens = BLOCKS * BLOCK;
    PrefixBlocks prefix = new PrefixBlocks(hashes, BLOCKS, tokens, BLOCK, tokens);
    return RoutingRequest.builder().model("m").prefix(prefix).build();
  }

  /** Places a prompt on a worker and ends it. */
  private static void cached(TreePolicy policy, Worker worker, RoutingRequest prompt) {
    Lease lease = lease(worker);
    policy.placed(prompt, lease);
    lease.ignored();
  }

  private int chosen(TreePolicy policy, RoutingRequest prompt) {
    Worker chosen = policy.picker(fleet.snapshot().pool(Role.REGULAR)).pick(prompt, 0);
    return workers.indexOf(requireNonNull(chosen, "chosen"));
  }

  /** Chooses a worker for a prompt; worker 0 holds its first {@code blocksCached} blocks. */
  private int chosen(Rules rules, int blocksCached, int... loads) {
    workers(loads);
    TreePolicy policy = new TreePolicy(rules, random);
    cached(policy, workers.getFirst(), prompt(1, BLOCKS));
    return chosen(policy, prompt(2, blocksCached));
  }

  @ParameterizedTest(name = "{0}: {1} of 10 blocks")
  @CsvSource({
    // More than 0.3 of the prompt.
    "VLLM, 3, 1",
    "VLLM, 4, 0",
    "SGLANG, 3, 1",
    "SGLANG, 4, 0",
    // 0.1 of the prompt or more.
    "RAY, 0, 1",
    "RAY, 1, 0",
  })
  void holderIsFollowedAboveAShareOfThePrompt(Rules rules, int blocks, int chosen) {
    assertThat(chosen(rules, blocks, 1, 0)).isEqualTo(chosen);
  }

  @ParameterizedTest(name = "{0} against {1}")
  @CsvSource({
    // A difference of more than 64,
    "64, 0, 0",
    "65, 0, 1",
    "264, 200, 0",
    // and 1.5 times the least.
    "195, 130, 0",
    "196, 130, 1",
    "300, 200, 0",
    "301, 200, 1",
  })
  void vllmAbandonsHoldersIfLoadsAreUnequal(int holder, int other, int chosen) {
    assertThat(chosen(Rules.VLLM, BLOCKS, holder, other)).isEqualTo(chosen);
  }

  /** The whole fleet is unequal; the holder is not overloaded. */
  @ParameterizedTest(name = "{0} against {1} and {2}")
  @CsvSource({"5, 60, 0, 0", "5, 65, 0, 2"})
  void vllmAbandonsIdleHoldersToo(int holder, int second, int third, int chosen) {
    assertThat(chosen(Rules.VLLM, BLOCKS, holder, second, third)).isEqualTo(chosen);
  }

  @ParameterizedTest(name = "{0} against three with {1}")
  @CsvSource({
    // At least 4 above the mean: mean 1.25 and 1.5.
    "5, 0, 0",
    "6, 0, 1",
    // Two standard deviations above the mean: 5.5 + 4.7 and 5.75 + 4.8.
    "10, 4, 0",
    "11, 4, 1",
    // 1.5 times the mean: 180 and 180.4.
    "140, 100, 0",
    "180, 100, 0",
    "181, 100, 1",
  })
  void sglangSkipsAHolderFarAboveTheMean(int holder, int others, int chosen) {
    assertThat(chosen(Rules.SGLANG, BLOCKS, holder, others, others, others)).isEqualTo(chosen);
  }

  /** Mean 4 + 4, and 4.25 + 4.1. */
  @ParameterizedTest(name = "{0} against 8, 0 and 0")
  @CsvSource({"8, 0, 0", "9, 2, 1"})
  void sglangPrefersAnotherHolderToANonHolder(int first, int alone, int beside) {
    workers(first, 8, 0, 0);
    TreePolicy policy = new TreePolicy(Rules.SGLANG, random);
    cached(policy, workers.get(0), prompt(1, BLOCKS));
    assertThat(chosen(policy, prompt(2, BLOCKS))).isEqualTo(alone);
    cached(policy, workers.get(1), prompt(1, BLOCKS));
    assertThat(chosen(policy, prompt(2, BLOCKS))).isEqualTo(beside);
  }

  @ParameterizedTest
  @EnumSource(Rules.class)
  void leastLoadedOfTheLargestHoldersIsChosen(Rules rules) {
    workers(2, 1, 0, 0);
    TreePolicy policy = new TreePolicy(rules, random);
    cached(policy, workers.get(0), prompt(1, BLOCKS));
    cached(policy, workers.get(1), prompt(1, BLOCKS));
    cached(policy, workers.get(2), prompt(2, 8));

    assertThat(chosen(policy, prompt(3, BLOCKS))).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource(value = Rules.class, names = "RAY", mode = EnumSource.Mode.EXCLUDE)
  void firstOfEqualsIsChosen(Rules rules) {
    workers(1, 0, 0);
    TreePolicy policy = new TreePolicy(rules, random);

    assertThat(chosen(policy, prompt(1, 0))).isEqualTo(1);
    cached(policy, workers.get(2), prompt(1, BLOCKS));
    cached(policy, workers.get(1), prompt(1, BLOCKS));
    assertThat(chosen(policy, prompt(2, BLOCKS))).isEqualTo(1);
  }

  @ParameterizedTest(name = "{0} waiting")
  @CsvSource({"1", "1000"})
  void rayFollowsAHolderAtAnyLoad(int load) {
    assertThat(chosen(Rules.RAY, BLOCKS, load, 0)).isZero();
  }

  /** Independent of their load; a random one among them. */
  @ParameterizedTest(name = "roll {0}")
  @CsvSource({"0, 1", "1, 2"})
  void rayOtherwiseChoosesAmongTheSmallestTrees(int first, int chosen) {
    workers(0, 3, 9);
    int[] rolls = {first, 1 - first};
    int[] next = {0};
    random = _ -> rolls[next[0]++];
    TreePolicy policy = new TreePolicy(Rules.RAY, _ -> random.roll(1));
    cached(policy, workers.get(0), prompt(1, 0));

    assertThat(chosen(policy, prompt(2, 0))).isEqualTo(chosen);
  }

  @ParameterizedTest
  @EnumSource(Rules.class)
  void departedWorkerHoldsNothing(Rules rules) {
    workers(0, 0);
    TreePolicy policy = new TreePolicy(rules, random);
    cached(policy, workers.get(1), prompt(1, BLOCKS));
    assertThat(chosen(policy, prompt(2, BLOCKS))).isEqualTo(1);
    policy.forget(workers.get(1));

    assertThat(chosen(policy, prompt(2, BLOCKS))).isZero();
  }
}
