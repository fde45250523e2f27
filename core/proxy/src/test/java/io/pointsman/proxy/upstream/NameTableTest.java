package io.pointsman.proxy.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.testkit.FakeClock;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class NameTableTest {
  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration PATIENCE = Duration.ofMillis(200);

  private final FakeClock clock = new FakeClock();
  private final ScheduledExecutorService loop = Executors.newSingleThreadScheduledExecutor();
  private final BlockingQueue<String> reported = new LinkedBlockingQueue<>();
  private final AtomicInteger lookUps = new AtomicInteger();
  private volatile NameTable.Lookup dns = host -> address(1);
  private volatile boolean noThread;

  private final NameTable names =
      new NameTable(
          host -> {
            lookUps.incrementAndGet();
            return dns.addresses(host);
          },
          TTL,
          PATIENCE,
          clock::nanos,
          lookUp -> {
            if (noThread) {
              throw new OutOfMemoryError("unable to create native thread");
            }
            Thread.ofPlatform().daemon().start(lookUp);
          });

  @AfterEach
  void stop() {
    loop.shutdownNow();
  }

  private static List<InetAddress> address(int... last) throws UnknownHostException {
    List<InetAddress> all = new ArrayList<>();
    for (int each : last) {
      all.add(InetAddress.getByAddress(new byte[] {10, 0, 0, (byte) each}));
    }
    return all;
  }

  private final class Listening implements NameTable.Asker {
    @Override
    public void resolved(List<InetAddress> addresses) {
      reported.add(
          addresses.stream().map(InetAddress::getHostAddress).collect(Collectors.joining(",")));
    }

    @Override
    public void unresolved(UnknownHostException cause) {
      reported.add("unknown");
    }
  }

  private String ask(String host) throws InterruptedException {
    try {
      names.resolve(host, loop, new Listening());
    } catch (OutOfMemoryError e) {
      // An error of this kind would end the run of all tests.
      throw new AssertionError(e);
    }
    return String.valueOf(reported.poll(60, TimeUnit.SECONDS));
  }

  private void awaitAddress(String address) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!ask("engine").equals(address)) {
      assertThat(System.nanoTime()).isLessThan(end);
    }
  }

  @Test
  void anIpAddressIsNotLookedUp() throws Exception {
    assertThat(ask("10.0.0.9")).isEqualTo("10.0.0.9");
    assertThat(lookUps).hasValue(0);
  }

  @Test
  void nameIsLookedUpOnceWhileItIsFresh() throws Exception {
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
    clock.advance(TTL);
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
    assertThat(lookUps).hasValue(1);
  }

  @Test
  void changedAddressIsUsedAfterTheTtl() throws Exception {
    ask("engine");
    dns = host -> address(2);
    clock.advance(TTL.plusMillis(1));
    assertThat(ask("engine")).as("used while it is looked up").isEqualTo("10.0.0.1");
    awaitAddress("10.0.0.2");
    assertThat(lookUps).hasValue(2);
  }

  @Test
  void unknownNameIsNotLookedUpAgainForAMoment() throws Exception {
    dns =
        host -> {
          throw new UnknownHostException(host);
        };
    assertThat(ask("engine")).isEqualTo("unknown");
    assertThat(ask("engine")).isEqualTo("unknown");
    assertThat(lookUps).hasValue(1);
    dns = host -> address(1);
    clock.advance(Duration.ofSeconds(1));
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
  }

  @Test
  void addressStaysInUseWhileItsNameIsUnknown() throws Exception {
    ask("engine");
    CountDownLatch failed = new CountDownLatch(1);
    dns =
        host -> {
          failed.countDown();
          throw new UnknownHostException(host);
        };
    clock.advance(TTL.plusMillis(1));
    ask("engine");
    failed.await();
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
  }

  @Test
  void hangingLookupTimesOutAndIsNotWaitedForAgain() throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    dns =
        host -> {
          try {
            answer.await();
          } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
          }
          return address(3);
        };
    assertThat(ask("engine")).as("after the patience").isEqualTo("unknown");
    clock.advance(PATIENCE.plusMillis(1));
    names.resolve("engine", loop, new Listening());
    assertThat(reported.poll()).as("at once").isEqualTo("unknown");
    assertThat(lookUps).hasValue(1);
    assertThat(ask("10.0.0.9")).as("others").isEqualTo("10.0.0.9");
    answer.countDown();
    awaitAddress("10.0.0.3");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void lookupThatThrowsIsAnUnknownNameAndIsRepeated(boolean error) throws Exception {
    dns =
        host -> {
          if (error) {
            throw new NoClassDefFoundError("broken");
          }
          throw new IllegalStateException("broken");
        };
    assertThat(ask("engine")).isEqualTo("unknown");
    dns = host -> address(1);
    clock.advance(Duration.ofSeconds(1));
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
  }

  @Test
  void nameIsLookedUpWhenThreadsAreAvailableAgain() throws Exception {
    noThread = true;
    assertThat(ask("engine")).isEqualTo("unknown");
    noThread = false;
    clock.advance(Duration.ofSeconds(1));
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
  }

  @Test
  void addressStaysInUseWhileNoThreadIsAvailable() throws Exception {
    ask("engine");
    dns = host -> address(2);
    noThread = true;
    clock.advance(TTL.plusMillis(1));
    assertThat(ask("engine")).isEqualTo("10.0.0.1");
    noThread = false;
    clock.advance(TTL.plusMillis(1));
    awaitAddress("10.0.0.2");
  }

  @Test
  void severalAddressesAreUsedInTurn() throws Exception {
    dns = host -> address(1, 2, 3);
    assertThat(List.of(ask("engine"), ask("engine"), ask("engine")))
        .containsExactlyInAnyOrder(
            "10.0.0.1,10.0.0.2,10.0.0.3",
            "10.0.0.2,10.0.0.3,10.0.0.1",
            "10.0.0.3,10.0.0.1,10.0.0.2");
    assertThat(List.of(turn(), turn(), turn()))
        .containsExactlyInAnyOrder("10.0.0.1", "10.0.0.2", "10.0.0.3");
    assertThat(lookUps).hasValue(1);
  }

  private String turn() {
    InetAddress next = names.turn("engine");
    return next == null ? "any" : next.getHostAddress();
  }

  @Test
  void anAddressWithoutAConnectionIsLastForAWhile() throws Exception {
    dns = host -> address(1, 2);
    ask("engine");
    names.failed("engine", address(1).getFirst());
    for (int i = 0; i < 4; i++) {
      assertThat(ask("engine")).isEqualTo("10.0.0.2,10.0.0.1");
      assertThat(turn()).isEqualTo("10.0.0.2");
    }
    clock.advance(Duration.ofSeconds(11));
    assertThat(List.of(turn(), turn())).containsExactlyInAnyOrder("10.0.0.1", "10.0.0.2");
  }

  @Test
  void oneAddressLeavesTheChoiceOfConnectionsFree() throws Exception {
    ask("engine");
    assertThat(turn()).isEqualTo("any");
    assertThat(names.turn("10.0.0.9")).isNull();
  }

  @Test
  void probesWaitForTheSameLookup() throws Exception {
    long minute = TimeUnit.MINUTES.toNanos(1);
    assertThat(names.await("engine", minute)).isEqualTo(address(1));
    ask("engine");
    assertThat(lookUps).hasValue(1);
    assertThat(names.await("10.0.0.9", minute)).isEqualTo(address(9));
    dns =
        host -> {
          throw new UnknownHostException(host);
        };
    assertThatThrownBy(() -> names.await("unknown", minute))
        .isInstanceOf(UnknownHostException.class);
  }
}
