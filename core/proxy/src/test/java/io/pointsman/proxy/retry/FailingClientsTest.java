package io.pointsman.proxy.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.retry.FailingClients.Client;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FailingClientsTest {
  private static final long ADDRESS = 7;

  private final FakeClock clock = new FakeClock();
  private final FailingClients clients = new FailingClients(clock::nanos);
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final List<Worker> workers =
      IntStream.range(0, 4).mapToObj(i -> fleet.add(WorkerSpec.of("http://w" + i + ":1"))).toList();

  private boolean failed(Client client, int worker) {
    return clients.failed(client, workers.get(worker));
  }

  /** A client of the address with an identity that it has invented. */
  private static Client invented(long identity) {
    return new Client(identity, ADDRESS);
  }

  @Test
  void aClientThatFailsOnSeveralWorkersIsSuspectUntilItSucceeds() {
    Client alice = Client.proved(1);
    assertThat(failed(alice, 0)).isFalse();
    assertThat(failed(alice, 0)).isFalse();
    assertThat(failed(alice, 1)).isTrue();
    assertThat(failed(Client.proved(2), 1)).as("another client").isFalse();
    clients.succeeded(alice);
    assertThat(failed(alice, 2)).isFalse();
  }

  @Test
  void inventedIdentitiesOfAnAddressAreSuspectTogether() {
    int suspect = 0;
    for (int i = 0; i < 100; i++) {
      suspect += failed(invented(i), i % 4) ? 1 : 0;
      clients.succeeded(invented(1000 + i));
    }
    assertThat(suspect).as("all but the first").isEqualTo(99);
    assertThat(failed(new Client(5001, 8L), 3)).as("another address").isFalse();
    assertThat(failed(Client.proved(5002), 3)).as("a proved identity").isFalse();
  }

  /** The address may be that of a proxy of many clients. */
  @Test
  void aWorkerWithMostFailuresOfAnAddressFailsByItself() {
    assertThat(failed(invented(1), 1)).isFalse();
    assertThat(failed(invented(2), 0)).as("as many as the other").isTrue();
    for (int i = 3; i < 20; i++) {
      assertThat(failed(invented(i), 0)).isFalse();
    }
    assertThat(failed(invented(20), 2)).isTrue();
  }

  @Test
  void oldFailuresDoNotCountEvenIfOthersFollowWithoutAPause() {
    for (int i = 0; i < 61; i++) {
      failed(invented(i), i % 4);
      clock.advance(Duration.ofSeconds(1));
    }
    clock.advance(Duration.ofSeconds(59));
    assertThat(failed(invented(100), 0)).isFalse();
    assertThat(failed(invented(101), 0)).isFalse();
  }

  @Test
  void theMemoryIsBounded() {
    for (int i = 0; i < 100_000; i++) {
      failed(new Client(i, (long) i), i % 4);
    }
    assertThat(failed(new Client(0, 0L), 1)).as("forgotten").isFalse();
    for (int i = 0; i < 200; i++) {
      Worker more = fleet.add(WorkerSpec.of("http://more" + i + ":1"));
      assertThat(clients.failed(invented(200_000 + i), more)).isEqualTo(i > 0);
    }
  }
}
