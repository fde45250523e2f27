package io.pointsman.pd.rule;

import static io.pointsman.pd.rule.PdTestFleet.request;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The choice of decode workers by cached prefix and load; blocks have 16 tokens. */
class JointPolicyTest {
  /** Tokens that cost the same as one request, in blocks; an indexed length. */
  private static final int WORTH_ONE = JointPolicy.TOKENS_PER_REQUEST / 16;

  /** The next indexed length. */
  private static final int WORTH_MORE = WORTH_ONE + WORTH_ONE / 8;

  private static PdTestFleet fleet(int decodes) {
    return fleet(decodes, 8);
  }

  /** A fleet that never skips prefill. */
  private static PdTestFleet fleet(int decodes, int maxLoadGap) {
    SplitSettings settings = new SplitSettings(0, 0, 2, maxLoadGap, 0, true, false, false);
    return new PdTestFleet(settings, 1, decodes, JointPolicy.NAME);
  }

  /** Lets a decode worker serve a prompt of {@code blocks} blocks. */
  private static void teach(PdTestFleet fleet, String holder, int blocks) {
    SplitRequest request = request(blocks);
    Lease lease = fleet.engine.place(request.decode(), fleet.worker(holder));
    requireNonNull(lease, "lease").succeeded();
  }

  private static String decode(PdTestFleet fleet, SplitRequest request) {
    return fleet.split(request).decode().worker().id();
  }

  @Test
  void amongEquallyLoadedWorkersTheLargestHolderDecodes() {
    PdTestFleet fleet = fleet(8);
    teach(fleet, "d5", 60);
    teach(fleet, "d2", 40);
    SplitRequest next = request(100);

    assertThat(decode(fleet, next)).isEqualTo("d5");
    PickResult result = next.decode().result();
    assertThat(result.reason()).isEqualTo(PickReason.PREFIX_HIT);
    assertThat(result.matchedBlocks()).isEqualTo(60);
  }

  @Test
  void aBusierWorkerIsChosenOnlyIfItsPrefixOutweighsItsLoad() {
    PdTestFleet fleet = fleet(2);
    teach(fleet, "d0", WORTH_ONE);
    fleet.workers.load(fleet.worker("d0"), 1);
    SplitRequest next = request(400);
    assertThat(decode(fleet, next)).isEqualTo("d1");
    assertThat(next.decode().result().reason()).isEqualTo(PickReason.LEAST_LOAD);

    PdTestFleet other = fleet(2);
    teach(other, "d0", WORTH_MORE);
    other.workers.load(other.worker("d0"), 1);
    assertThat(decode(other, request(400))).isEqualTo("d0");
  }

  @Test
  void aSmallerHolderIsChosenIfItsLoadIsMuchLower() {
    PdTestFleet fleet = fleet(3);
    teach(fleet, "d0", 2 * WORTH_ONE);
    teach(fleet, "d1", WORTH_MORE);
    fleet.workers.load(fleet.worker("d0"), 1);
    SplitRequest next = request(600);

    assertThat(decode(fleet, next)).isEqualTo("d1");
    assertThat(next.decode().result().matchedBlocks()).isEqualTo(WORTH_MORE);
    assertThat(next.decode().result().knownBlocks()).isEqualTo(2 * WORTH_ONE);
  }

  @Test
  void noPrefixOutweighsTheLoadGap() {
    for (int gap : new int[] {1, 2}) {
      PdTestFleet fleet = fleet(2, gap);
      teach(fleet, "d0", 8 * WORTH_ONE);
      fleet.workers.load(fleet.worker("d0"), 2);
      assertThat(decode(fleet, request(9 * WORTH_ONE))).isEqualTo(gap == 1 ? "d1" : "d0");
    }
  }

  /** A common prefix of 240 tokens: consecutive requests spread at random. */
  @Test
  void aShortCommonPrefixDoesNotConcentrateRequests() {
    PdTestFleet fleet = fleet(4);
    teach(fleet, "d0", 15);
    Set<String> chosen = new HashSet<>();
    for (int i = 0; i < 64; i++) {
      SplitRequest next = request(15);
      Placement.Split split = fleet.split(next);
      chosen.add(split.decode().worker().id());
      assertThat(next.decode().result().reason()).isEqualTo(PickReason.LEAST_LOAD);
      split.prefill().ignored();
      split.decode().ignored();
    }
    assertThat(chosen).hasSize(4);
  }

  @Test
  void equalHoldersShareTheRequests() {
    PdTestFleet fleet = fleet(4);
    teach(fleet, "d1", 64);
    teach(fleet, "d3", 64);
    Set<String> chosen = new HashSet<>();
    for (int i = 0; i < 64; i++) {
      Placement.Split split = fleet.split(request(80));
      chosen.add(split.decode().worker().id());
      split.prefill().ignored();
      split.decode().ignored();
    }
    assertThat(chosen).containsExactlyInAnyOrder("d1", "d3");
  }

  @Test
  void aTriedHolderIsNotChosen() {
    PdTestFleet fleet = fleet(2);
    teach(fleet, "d0", 64);
    SplitRequest next = request(80);
    next.decode().exclude(fleet.worker("d0"));

    assertThat(decode(fleet, next)).isEqualTo("d1");
  }
}
