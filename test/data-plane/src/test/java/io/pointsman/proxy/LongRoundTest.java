package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Guarantees during a long round of the event loop. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
final class LongRoundTest {
  private static final String GOOD =
      "GET /x HTTP/1.1\r\nhost: r\r\nauthorization: Bearer k\r\n\r\n";

  private static final String BAD = "GET /x HTTP/1.1\r\nhost: r\r\nno colon\r\n\r\n";

  /** More answers than the loop flushes one by one. */
  private static final int MANY = 8;

  /** Longer than the permitted silence of a lingering client. */
  private static final Duration ROUND = Duration.ofSeconds(3);

  /** The shortest timeout. The router checks all timeouts ten times within it. */
  private static final Duration SHORTEST = Duration.ofMillis(100);

  private final FakeClock clock = new FakeClock();
  private final BlockedLoop loop = new BlockedLoop();

  private static List<WireClient> served(ProxyRig rig, int count) throws Exception {
    List<WireClient> clients = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      WireClient client = rig.connect();
      client.send(GOOD).read();
      clients.add(client);
    }
    return clients;
  }

  /** Sends requests for the loop's next round. The last one blocks the loop. */
  private void sendForNextRound(List<WireClient> refused, WireClient last) throws Exception {
    loop.await();
    for (WireClient each : refused) {
      each.send(BAD);
    }
    last.send(GOOD);
  }

  @Test
  void clientsGetTheirAnswerBeforeTheClose() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1))
            .withUpstream(UpstreamSettings.DEFAULTS.withPoolIdleTimeout(SHORTEST));
    try (ProxyRig rig = new ProxyRig(Transport.NIO, settings, clock)) {
      List<WireClient> before = served(rig, MANY);
      List<WireClient> refused = served(rig, MANY);
      List<WireClient> holding = served(rig, 3);
      rig.callers = loop;
      try {
        holding.get(0).send(GOOD);
        // After a round with many answers, the next round sends its answers together at its end.
        sendForNextRound(before, holding.get(1));
        loop.pass(1);
        sendForNextRound(refused, holding.get(2));
        loop.pass(1);
        loop.await();
        clock.advance(ROUND);
        TimeUnit.NANOSECONDS.sleep(SHORTEST.toNanos());
        assertThat(refused).noneMatch(WireClient::hasBytes);
      } finally {
        loop.pass(MANY);
      }

      for (WireClient each : refused) {
        assertThat(each.read().status()).isEqualTo(400);
      }
    }
  }
}
