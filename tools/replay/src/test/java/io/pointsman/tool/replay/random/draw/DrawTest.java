package io.pointsman.tool.replay.random.draw;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.sim.schedule.ServiceProfiles;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class DrawTest {
  private static final List<Draw> DRAWS =
      LongStream.rangeClosed(1, 200).mapToObj(Draw::of).toList();

  @Test
  void sameSeedDrawsTheSame() {
    for (long seed = 1; seed <= 20; seed++) {
      Trace first = RandomWorkload.of(Draw.of(seed), 200).at(5);
      Trace second = RandomWorkload.of(Draw.of(seed), 200).at(5);

      assertThat(Draw.of(seed)).isEqualTo(Draw.of(seed));
      assertThat(texts(first)).isEqualTo(texts(second));
    }
  }

  /** The requests with the contents of their arrays, which records compare by identity. */
  private static List<String> texts(Trace trace) {
    return trace.requests().stream()
        .map(
            request ->
                request.toString().replaceFirst("blocks=[^,]*", "blocks=")
                    + Arrays.toString(request.blocks()))
        .toList();
  }

  @Test
  void otherSeedsDrawOtherWorkloads() {
    assertThat(DRAWS.stream().map(Draw::describe).distinct().count()).isGreaterThan(150);
    assertThat(DRAWS.stream().map(draw -> RandomWorkload.of(draw, 1).flood().requests().get(0)))
        .extracting(request -> request.blocks()[0])
        .doesNotHaveDuplicates();
  }

  @Test
  void everyFamilyEngineArrivalAndDisturbanceOccurs() {
    assertThat(DRAWS).extracting(Draw::family).contains(Family.values());
    assertThat(DRAWS).extracting(Draw::arrivals).contains(ArrivalProcess.values());
    assertThat(DRAWS).extracting(Draw::disturbance).contains(Disturbance.values());
    assertThat(DRAWS).extracting(Draw::engine).containsAll(ServiceProfiles.all());
    assertThat(DRAWS).extracting(Draw::blockTokens).containsOnly(16, 64, 128);
  }

  @Test
  void fleetsAndLoadsAreInRange() {
    assertThat(DRAWS)
        .allSatisfy(
            draw -> {
              assertThat(draw.workers()).isBetween(2, 64);
              assertThat(draw.kvTokens()).isBetween(60_000, 1_600_000);
              assertThat(draw.load()).isBetween(0.2, 1.2);
              assertThat(draw.trouble().worker()).isBetween(0, draw.workers() - 1);
              assertThat(draw.trouble().lostAt()).isLessThan(draw.trouble().backAt());
            });
  }

  @Test
  void lengthsAreInRangeAndEveryRequestFits() {
    for (Draw draw : DRAWS.subList(0, 60)) {
      List<TraceRequest> requests = RandomWorkload.of(draw, 300).flood().requests();

      assertThat(requests)
          .hasSize(300)
          .allSatisfy(
              request -> {
                assertThat(request.inputTokens()).isBetween(100, 100_000);
                assertThat(request.outputTokens()).isBetween(0, 2000);
                assertThat(request.blocks()).hasSize(Math.ceilDiv(request.inputTokens(), 64));
                assertThat(request.inputTokens() + request.outputTokens())
                    .isLessThan(draw.kvTokens());
              });
    }
  }

  @Test
  void requestsComeAtTheRequestedRateInOrderOfTime() {
    for (Draw draw : DRAWS.subList(0, 60)) {
      List<TraceRequest> requests = RandomWorkload.of(draw, 300).at(10).requests();
      double last = 0;
      for (int i = 0; i < requests.size(); i++) {
        TraceRequest request = requests.get(i);
        assertThat(request.follows()).isLessThan(i);
        if (request.follows() < 0) {
          assertThat(request.at()).isGreaterThanOrEqualTo(last);
          last = request.at();
        }
      }
      assertThat(last).isLessThanOrEqualTo(30_000.001);
    }
  }

  @Test
  void onlyTurnsOfClosedSessionsWait() {
    for (Draw draw : DRAWS) {
      boolean turns =
          draw.parts().stream()
              .anyMatch(part -> part.family() == Family.TURNS || part.family() == Family.TOOLS);
      boolean follow =
          RandomWorkload.of(draw, 100).at(1).requests().stream().anyMatch(r -> r.follows() >= 0);
      assertThat(follow).isEqualTo(turns && draw.closed());
    }
  }

  @Test
  void clientsLeaveOnlyIfDrawn() {
    for (Draw draw : DRAWS) {
      boolean leaving =
          RandomWorkload.of(draw, 300).at(1).requests().stream()
              .anyMatch(request -> request.patience() < Double.POSITIVE_INFINITY);
      assertThat(leaving).isEqualTo(draw.disturbance() == Disturbance.LEAVING);
    }
  }

  @Test
  void doublingLoadIsTwiceAsFastInTheSecondHalf() {
    Draw doubled =
        DRAWS.stream()
            .filter(draw -> draw.disturbance() == Disturbance.DOUBLED)
            .filter(draw -> draw.family() != Family.TURNS && draw.family() != Family.TOOLS)
            .filter(draw -> draw.arrivals() == ArrivalProcess.POISSON)
            .findFirst()
            .orElseThrow();
    List<TraceRequest> requests = RandomWorkload.of(doubled, 4000).at(1).requests();
    double half = requests.get(2000).at();

    assertThat(half / (requests.getLast().at() - half)).isBetween(1.6, 2.4);
  }

  @Test
  void textsShareBlocksUpToTheirFirstDifference() {
    PromptText head = PromptText.EMPTY.with(1, 200);
    long[] one = head.with(2, 200).blocks();
    long[] other = head.with(3, 200).blocks();

    assertThat(one).hasSize(7).startsWith(one[0], one[1], one[2]);
    assertThat(other).startsWith(one[0], one[1], one[2]);
    assertThat(other[3]).isNotEqualTo(one[3]);
    assertThat(head.with(2, 200).blocks()).isEqualTo(one);
  }
}
