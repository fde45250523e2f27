package io.pointsman.control.kvevents;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.control.kvevents.SequenceTrack.Verdict;
import org.junit.jupiter.api.Test;

class SequenceTrackTest {
  private final SequenceTrack track = new SequenceTrack();

  private void hear(long from, long to) {
    for (long seq = from; seq <= to; seq++) {
      assertThat(track.look(seq, seq, true)).isEqualTo(Verdict.NEXT);
      track.advance(seq, true);
    }
  }

  private void repeat(long from, long to) {
    for (long seq = from; seq <= to; seq++) {
      assertThat(track.look(seq, seq, false)).isEqualTo(Verdict.NEXT);
      track.advance(seq, false);
    }
  }

  @Test
  void numbersIncreaseByOneFromZero() {
    hear(0, 200);
    assertThat(track.last()).isEqualTo(200);
  }

  @Test
  void aMissingNumberIsAGapUntilItIsFilled() {
    hear(0, 2);
    assertThat(track.look(5, 5, true)).isEqualTo(Verdict.GAP);
    repeat(3, 5);
    assertThat(track.look(5, 5, true)).isEqualTo(Verdict.REPEATED);
    hear(6, 6);
  }

  @Test
  void aLateSubscriberSeesAGap() {
    assertThat(track.look(7, 7, true)).isEqualTo(Verdict.GAP);
    track.skipTo(7);
    hear(7, 8);
  }

  @Test
  void replayedBatchesOfAnyNumberMayArriveAgainFromTheStream() {
    hear(0, 0);
    repeat(1, 5000);
    assertThat(track.look(1, 1, true)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(2, 2, true)).as("overtaken").isEqualTo(Verdict.REPEATED);
    assertThat(track.look(5000, 5000, true)).isEqualTo(Verdict.REPEATED);
    hear(5001, 5001);
  }

  @Test
  void aPastNumberWithOtherContentMeansANewPublisher() {
    hear(0, 9);
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(3, 77, true)).isEqualTo(Verdict.RESTARTED);
    assertThat(track.look(0, 77, true)).isEqualTo(Verdict.RESTARTED);
  }

  @Test
  void aLongPastNumberMeansANewPublisher() {
    hear(0, 200);
    assertThat(track.look(0, 0, true)).isEqualTo(Verdict.RESTARTED);
    track.forget();
    hear(0, 3);
  }

  @Test
  void aLateSkippedBatchIsNoRestart() {
    hear(0, 2);
    assertThat(track.look(4, 4, true)).isEqualTo(Verdict.GAP);
    track.skipTo(4);
    hear(4, 4);
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.REPEATED);
    track.reconnected();
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.RESTARTED);
  }

  @Test
  void theLastBatchProvesThatThePublisherIsTheSame() {
    hear(0, 5);
    track.reconnected();
    assertThat(track.look(5, 5, false)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(5, 6, false)).isEqualTo(Verdict.RESTARTED);
  }
}
