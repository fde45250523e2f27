package io.pointsman.proxy.flush;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.channels.NotYetConnectedException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Batched flushes. Tasks of an embedded channel's loop represent the end of its round. */
class FlushesTest {
  private static final int MANY = 10;

  private final EmbeddedChannel loop = new EmbeddedChannel();
  private final Flushes flushes = new Flushes(loop.eventLoop());
  private final List<EmbeddedChannel> channels = new ArrayList<>();
  private final List<Flushes.Flush> each = new ArrayList<>();

  FlushesTest() {
    for (int i = 0; i < MANY; i++) {
      EmbeddedChannel channel = new EmbeddedChannel();
      channels.add(channel);
      each.add(flushes.of(channel));
    }
  }

  @AfterEach
  void close() {
    channels.forEach(EmbeddedChannel::close);
    loop.close();
  }

  @Test
  void writtenBytesAreSentAtTheEndOfTheRound() {
    write(0);
    assertThat(sent()).isZero();

    roundEnds();

    assertThat(sent()).isEqualTo(1);
  }

  @Test
  void aConnectionThatCannotBeFlushedIsClosedAndDelaysNoOther() {
    EmbeddedChannel bad = new EmbeddedChannel();
    flushes
        .of(
            bad,
            () -> {
              throw new NotYetConnectedException();
            })
        .soon();
    write(0);
    roundEnds();
    assertThat(sent()).isEqualTo(1);
    assertThat(bad.isOpen()).isFalse();

    write(1);
    roundEnds();
    assertThat(sent()).isEqualTo(2);
  }

  @Test
  void inAQuietRoundBytesAreSentAfterTheReadThatCausedThem() {
    write(0);
    flushes.readEnds();

    assertThat(sent()).isEqualTo(1);
  }

  @Test
  void afterABusyRoundConnectionsWaitForEachOther() {
    busyRound();

    write(0);
    flushes.readEnds();
    write(1);
    flushes.readEnds();

    assertThat(sent()).isEqualTo(MANY);
    roundEnds();
    assertThat(sent()).isEqualTo(MANY + 2);
  }

  @Test
  void afterAQuietRoundNoConnectionWaits() {
    busyRound();
    write(0);
    roundEnds();

    write(1);
    flushes.readEnds();

    assertThat(sent()).isEqualTo(MANY + 2);
  }

  @Test
  void flushesAfterReadsCountTowardsABusyRound() {
    for (int i = 0; i < MANY; i++) {
      write(i);
      flushes.readEnds();
    }
    roundEnds();

    write(0);
    flushes.readEnds();

    assertThat(sent()).isEqualTo(MANY);
  }

  private void busyRound() {
    for (int i = 0; i < MANY; i++) {
      write(i);
    }
    roundEnds();
  }

  private void write(int channel) {
    channels.get(channel).write("bytes");
    each.get(channel).soon();
  }

  private void roundEnds() {
    loop.runPendingTasks();
  }

  private int sent() {
    return channels.stream().mapToInt(channel -> channel.outboundMessages().size()).sum();
  }
}
