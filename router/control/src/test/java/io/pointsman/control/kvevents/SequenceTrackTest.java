package io.pointsman.control.kvevents;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.control.kvevents.SequenceTrack.Verdict;
import org.junit.jupiter.api.Test;

class SequenceTrackTest {
  private final SequenceTrack track = new SequenceTrack();

  private void receive(long from, long to) {
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
    receive(0, 200);
    assertThat(track.last()).isEqualTo(200);
  }

  @Test
  void aMissingNumberIsAGapUntilItIsFilled() {
    receive(0, 2);
    assertThat(track.look(5, 5, true)).isEqualTo(Verdict.GAP);
    repeat(3, 5);
    assertThat(track.look(5, 5, true)).isEqualTo(Verdict.REPEATED);
    receive(6, 6);
  }

  @Test
  void aLateSubscriberSeesAGap() {
    assertThat(track.look(7, 7, true)).isEqualTo(Verdict.GAP);
    track.skipTo(7);
    receive(7, 8);
  }

  @Test
  void replayedBatchesOfAnyNumberMayArriveAgainFromTheStream() {
    receive(0, 0);
    repeat(1, 5000);
    assertThat(track.look(1, 1, true)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(2, 2, true)).as("overtaken").isEqualTo(Verdict.REPEATED);
    assertThat(track.look(5000, 5000, true)).isEqualTo(Verdict.REPEATED);
    receive(5001, 5001);
  }

  @Test
  void aPastNumberWithOtherContentMeansANewPublisher() {
    receive(0, 9);
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(3, 77, true)).isEqualTo(Verdict.RESTARTED);
    assertThat(track.look(0, 77, true)).isEqualTo(Verdict.RESTARTED);
  }

  @Test
  void aLongPastNumberMeansANewPublisher() {
    receive(0, 200);
    assertThat(track.look(0, 0, true)).isEqualTo(Verdict.RESTARTED);
    track.forget();
    receive(0, 3);
  }

  @Test
  void aLateSkippedBatchIsNoRestart() {
    receive(0, 2);
    assertThat(track.look(4, 4, true)).isEqualTo(Verdict.GAP);
    track.skipTo(4);
    receive(4, 4);
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.REPEATED);
    track.reconnected();
    assertThat(track.look(3, 3, true)).isEqualTo(Verdict.RESTARTED);
  }

  @Test
  void theLastBatchProvesThatThePublisherIsTheSame() {
    receive(0, 5);
    track.reconnected();
    assertThat(track.look(5, 5, false)).isEqualTo(Verdict.REPEATED);
    assertThat(track.look(5, 6, false)).isEqualTo(Verdict.RESTARTED);
  }
}
