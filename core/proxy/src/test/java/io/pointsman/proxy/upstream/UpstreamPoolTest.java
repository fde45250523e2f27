package io.pointsman.proxy.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.wire.RouterId;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Idle connections of the pool: their number, state and age. */
class UpstreamPoolTest {
  private static final long SECOND = 1_000_000_000L;

  private final EmbeddedChannel channel = new EmbeddedChannel();
  private final UpstreamPools pools = pools(UpstreamSettings.DEFAULTS);
  private final UpstreamPool pool =
      pools.to(new Fleet(FleetSettings.DEFAULTS, () -> 0).add(WorkerSpec.of("http://127.0.0.1:1")));
  private final UpstreamConnection connection =
      new UpstreamConnection(
          pool, channel, new Nobody(), java.net.InetAddress.getLoopbackAddress());

  UpstreamPoolTest() {
    channel.pipeline().addLast(connection);
  }

  private UpstreamPools pools(UpstreamSettings settings) {
    return new UpstreamPools(
        channel.eventLoop(),
        new Flushes(channel.eventLoop()),
        new Bootstrap().channel(NioSocketChannel.class),
        (_, _) -> {},
        settings,
        new NameTable(NameTable::ofSystem, Duration.ofSeconds(1), Duration.ofSeconds(1), () -> 0),
        EngineTls.ofSystem(),
        RouterId.NONE,
        () -> {});
  }

  @Test
  void connectionReleasedWithPausedReadingReadsAgain() {
    connection.setReading(false);

    connection.release(0);

    assertThat(channel.config().isAutoRead()).isTrue();
    assertThat(pool.take(new Nobody(), SECOND)).isSameAs(connection);
    assertThat(connection.reused()).isTrue();
    assertThat(pool.take(new Nobody(), SECOND)).isNull();
  }

  @Test
  void connectionUnusedForTooLongIsClosedAndNotUsed() {
    connection.release(0);

    assertThat(pool.take(new Nobody(), 2 * SECOND)).isNull();
    assertThat(channel.isOpen()).isFalse();
  }

  @Test
  void sweepClosesOnlyExpiredConnections() {
    connection.release(0);

    assertThat(pools.sweep(SECOND)).isTrue();
    assertThat(channel.isOpen()).isTrue();
    assertThat(pools.sweep(2 * SECOND)).isFalse();
    assertThat(channel.isOpen()).isFalse();
  }

  @Test
  void connectionAboveTheMaximumIsClosed() {
    UpstreamSettings all = UpstreamSettings.DEFAULTS;
    UpstreamPool small =
        pools(
                new UpstreamSettings(
                    all.connectTimeout(),
                    all.poolIdleTimeout(),
                    1,
                    all.maxHeadBytes(),
                    all.nameTtl(),
                    all.tcpUserTimeout(),
                    all.keys()))
            .to(pool.worker());
    EmbeddedChannel further = new EmbeddedChannel();
    UpstreamConnection first =
        new UpstreamConnection(
            small, channel, new Nobody(), java.net.InetAddress.getLoopbackAddress());
    UpstreamConnection second =
        new UpstreamConnection(
            small, further, new Nobody(), java.net.InetAddress.getLoopbackAddress());

    first.release(0);
    second.release(0);

    assertThat(channel.isOpen()).isTrue();
    assertThat(further.isOpen()).isFalse();
    assertThat(small.take(new Nobody(), SECOND)).isSameAs(first);
    assertThat(small.take(new Nobody(), SECOND)).isNull();
  }

  @Test
  void idleConnectionThatReceivesBytesIsClosed() {
    connection.release(0);
    ByteBuf unasked = Unpooled.copiedBuffer(new byte[] {1});

    channel.writeInbound(unasked);

    assertThat(channel.isOpen()).isFalse();
    assertThat(unasked.refCnt()).isZero();
    assertThat(pool.take(new Nobody(), 0)).isNull();
  }

  @Test
  void workerThatReusesASlotGetsItsOwnPool() {
    connection.release(0);
    UpstreamPool other =
        pools.to(
            new Fleet(FleetSettings.DEFAULTS, () -> 0).add(WorkerSpec.of("http://127.0.0.1:2")));

    assertThat(other).isNotSameAs(pool);
    assertThat(channel.isOpen()).isFalse();
  }

  @Test
  void connectionInUseDuringReuseOfItsSlotIsNotKept() {
    pools.to(new Fleet(FleetSettings.DEFAULTS, () -> 0).add(WorkerSpec.of("http://127.0.0.1:2")));

    connection.release(0);

    assertThat(channel.isOpen()).isFalse();
  }

  /** Ignores all calls. */
  private static final class Nobody implements UpstreamUser {
    @Override
    public void connected(UpstreamConnection ready) {}

    @Override
    public void connectFailed(Throwable cause) {}

    @Override
    public void received(ByteBuf bytes) {
      bytes.release();
    }

    @Override
    public void receivedAll() {}

    @Override
    public void disconnected(boolean reset) {}

    @Override
    public void writable(boolean writable) {}

    @Override
    public void defective(Throwable defect) {}
  }
}
