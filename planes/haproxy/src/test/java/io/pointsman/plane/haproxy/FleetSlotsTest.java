package io.pointsman.plane.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.testkit.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class FleetSlotsTest {
  private static final Duration DAY = Duration.ofDays(1);

  @TempDir private Path directory;

  private final List<String> unknown = new ArrayList<>();
  private final List<String> lookedUp = new ArrayList<>();
  private List<String> found = List.of("10.0.0.1");
  private final Map<String, URI> workers = new LinkedHashMap<>();
  private FakeRuntime haproxy;
  private FleetSlots slots;

  @BeforeEach
  void open() throws IOException {
    haproxy = new FakeRuntime(directory.resolve("s"));
    slots = slots(3);
  }

  private FleetSlots slots(int count) {
    return new FleetSlots(
        new RuntimeApi(directory.resolve("s")), "workers.map", count, this::address);
  }

  private List<String> address(String host) throws IOException {
    lookedUp.add(host);
    if (unknown.contains(host)) {
      throw new UnknownHostException(host);
    }
    return found;
  }

  @AfterEach
  void close() throws IOException {
    haproxy.close();
  }

  private void worker(String id, String url) {
    workers.put(id, URI.create(url));
  }

  /** The commands that assign a server to a worker. */
  private static List<String> added(String id, String slot, int port) {
    return List.of(
        "set server workers/" + slot + " addr 10.0.0.1 port " + port,
        "set server workers/" + slot + " state ready",
        "add map workers.map " + id + " " + slot);
  }

  private static List<String> removed(String id, String slot) {
    return List.of("del map workers.map " + id, "set server workers/" + slot + " state maint");
  }

  @Test
  void aServerIsInTheMapOnlyWhileItIsReady() throws Exception {
    worker("a", "http://a:8000");
    worker("b", "http://b");
    slots.follow(workers);

    List<String> both = new ArrayList<>(added("a", "w1", 8000));
    both.addAll(added("b", "w2", 80));
    assertThat(haproxy.received()).isEqualTo(both);
    assertThat(slots.size()).isEqualTo(2);

    slots.follow(workers);
    assertThat(haproxy.received()).isEmpty();

    workers.remove("a");
    slots.follow(workers);
    assertThat(haproxy.received().subList(0, 2)).isEqualTo(removed("a", "w1"));
    assertThat(slots.size()).isEqualTo(1);
  }

  @Test
  void namesWithAnUnderscoreAreNames() throws Exception {
    worker("a", "http://vllm_engine_1:8000");
    slots.follow(workers);
    assertThat(haproxy.received()).containsSubsequence(added("a", "w1", 8000));
  }

  @ParameterizedTest
  @ValueSource(strings = {"vllm_engine_1", "engine", "[::1]"})
  void aNameIsKeptUntilItsLookupHasEnded(String host) throws Exception {
    CountDownLatch answered = new CountDownLatch(1);
    AtomicInteger lookUps = new AtomicInteger();
    FleetSlots.Addresses slow =
        name -> {
          lookUps.incrementAndGet();
          awaitUninterruptibly(answered);
          return found;
        };
    try (FleetNames names = new FleetNames(host.startsWith("[") ? _ -> found : slow, DAY)) {
      slots = new FleetSlots(new RuntimeApi(directory.resolve("s")), "workers.map", 3, names);
      worker("a", "http://" + host + ":8000");
      worker("b", "nothing:to.look.up");
      for (int i = 0; i < 3; i++) {
        slots.follow(workers);
        names.retain(FleetSlots.hosts(workers.values()));
      }
      answered.countDown();
      Await.until(
          "HAProxy has the worker",
          () -> {
            try {
              slots.follow(workers);
              names.retain(FleetSlots.hosts(workers.values()));
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
            return slots.size() == 1;
          });
      assertThat(haproxy.received()).isEqualTo(added("a", "w1", 8000));
      assertThat(lookUps).hasValueLessThanOrEqualTo(1);
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aNewUrlGetsAnotherServer() throws Exception {
    worker("a", "http://a:8000");
    slots.follow(workers);
    haproxy.received();

    worker("a", "http://a:8001");
    slots.follow(workers);

    List<String> received = haproxy.received();
    assertThat(received.subList(0, 2)).isEqualTo(removed("a", "w1"));
    assertThat(received.subList(received.size() - 3, received.size()))
        .isEqualTo(added("a", "w2", 8001));
  }

  @Test
  void aSlotIsUsedAgainWhenItsStreamsHaveEnded() throws Exception {
    slots = slots(1);
    worker("a", "http://a:1");
    slots.follow(workers);
    workers.clear();
    worker("b", "http://b:2");
    haproxy.says = command -> command.equals("show stat") ? "workers,w1,0,0,1,7" : "";
    slots.follow(workers);
    assertThat(slots.size()).as("a stream runs on the only server").isZero();
    haproxy.received();

    haproxy.says = command -> command.equals("show stat") ? "# pxname\nworkers,w1,0,0,0,7" : "";
    slots.follow(workers);

    assertThat(haproxy.received()).containsSubsequence(added("b", "w1", 2));
    assertThat(slots.size()).isEqualTo(1);
  }

  @Test
  void anUnknownNameDelaysNoOtherAndIsResolvedAgainLater() throws Exception {
    unknown.add("nowhere");
    worker("first", "http://nowhere:1");
    worker("second", "http://b:2");
    slots.follow(workers);
    assertThat(haproxy.received()).isEqualTo(added("second", "w1", 2));

    lookedUp.clear();
    unknown.clear();
    worker("third", "http://c:3");
    for (int i = 1; i < FleetSlots.PAUSE; i++) {
      slots.follow(workers);
    }
    assertThat(lookedUp).contains("c").doesNotContain("nowhere");
    assertThat(haproxy.received()).isEqualTo(added("third", "w2", 3));

    slots.follow(workers);
    assertThat(haproxy.received()).isEqualTo(added("first", "w3", 1));
    assertThat(slots.size()).isEqualTo(3);
  }

  @Test
  void aWorkerIsAddedOnceItsNameIsResolved() throws Exception {
    found = List.of();
    worker("a", "http://a:1");
    slots.follow(workers);
    assertThat(haproxy.received()).isEmpty();

    found = List.of("10.0.0.1");
    slots.follow(workers);
    assertThat(haproxy.received()).isEqualTo(added("a", "w1", 1));
  }

  @Test
  void aWorkerThatHasMovedGetsAnotherServer() throws Exception {
    worker("a", "http://a:1");
    worker("b", "http://b:2");
    slots.follow(workers);
    haproxy.received();
    // Another order of addresses is no move, nor is a temporary failure of the lookup.
    found = List.of("10.0.0.2", "10.0.0.1");
    slots.follow(workers);
    unknown.addAll(List.of("a", "b"));
    slots.follow(workers);
    assertThat(haproxy.received()).isEmpty();

    unknown.remove("a");
    found = List.of("10.0.0.3");
    slots.follow(workers);
    List<String> received = haproxy.received();
    assertThat(received)
        .containsSubsequence(removed("a", "w1"))
        .containsSubsequence(
            "set server workers/w3 addr 10.0.0.3 port 1",
            "set server workers/w3 state ready",
            "add map workers.map a w3")
        .noneMatch(command -> command.contains("w2"));
    assertThat(slots.size()).isEqualTo(2);
  }

  @Test
  void aWorkerThatHasMovedKeepsItsServerWhileNoSlotIsLeft() throws Exception {
    slots = slots(1);
    worker("a", "http://a:1");
    slots.follow(workers);
    haproxy.received();

    found = List.of("10.0.0.3");
    slots.follow(workers);

    assertThat(haproxy.received()).isEmpty();
    assertThat(slots.size()).isEqualTo(1);
  }

  @Test
  void workersThatHaproxyCannotServeAreLeftOut() throws Exception {
    worker("tls", "https://a:443");
    worker("below", "http://a:1/prefix");
    worker("two words", "http://a:1");
    worker("semi;colon", "http://a:1");
    worker("quo\"te", "http://a:1");
    worker("#1", "http://a:1");
    worker("none", "file:///a");
    worker("good", "http://a:1/");
    slots.follow(workers);

    assertThat(haproxy.received()).isEqualTo(added("good", "w1", 1));
    assertThat(lookedUp).containsExactly("a");
  }

  @Test
  void aRefusedCommandForOneWorkerDelaysNoOther() throws Exception {
    haproxy.says = command -> command.contains("port 1") ? "Invalid address" : "";
    worker("bad", "http://a:1");
    worker("good", "http://b:2");
    slots.follow(workers);

    assertThat(haproxy.received()).containsSubsequence(added("good", "w2", 2));
    assertThat(slots.size()).isEqualTo(1);

    haproxy.says = command -> command.startsWith("del map") ? "Key not found." : "";
    workers.remove("good");
    slots.follow(workers);
    assertThat(slots.size()).isZero();
  }

  @Test
  void workersWithoutASlotAreLeftOutUntilOneIsFree() throws Exception {
    for (int i = 0; i < 5; i++) {
      worker("w" + i, "http://a:" + (i + 1));
    }
    slots.follow(workers);
    assertThat(slots.size()).isEqualTo(3);
    haproxy.received();

    workers.remove("w0");
    haproxy.says = command -> command.equals("show stat") ? "workers,w1,0,0,0,7" : "";
    slots.follow(workers);

    assertThat(haproxy.received()).containsSubsequence(added("w3", "w1", 4));
    assertThat(slots.size()).isEqualTo(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"addr", "state ready", "add map"})
  void aServerInAnUnknownStateIsDisabledBeforeItsSlotIsReused(String last) throws Exception {
    slots = slots(1);
    haproxy.breaks = command -> command.contains(last);
    worker("a", "http://a:1");
    assertThatThrownBy(() -> slots.follow(workers)).isInstanceOf(IOException.class);
    assertThat(slots.size()).isZero();
    haproxy.received();

    haproxy.breaks = _ -> false;
    haproxy.says = command -> command.equals("show stat") ? "workers,w1,0,0,0,7" : "";
    workers.clear();
    worker("b", "http://b:2");
    slots.follow(workers);

    List<String> received = haproxy.received();
    assertThat(received.subList(0, 2)).isEqualTo(removed("a", "w1"));
    assertThat(received).containsSubsequence(added("b", "w1", 2));
  }

  @Test
  void aRefusedServerThatCannotBeDisabledIsNotForgotten() throws Exception {
    slots = slots(1);
    haproxy.says = command -> command.startsWith("add map") ? "No room." : "";
    haproxy.breaks = command -> command.contains("state maint");
    worker("a", "http://a:1");
    assertThatThrownBy(() -> slots.follow(workers)).isInstanceOf(IOException.class);
    haproxy.received();

    haproxy.breaks = _ -> false;
    haproxy.says = command -> command.equals("show stat") ? "workers,w1,0,0,0,0" : "";
    workers.clear();
    worker("b", "http://b:2");
    slots.follow(workers);

    List<String> received = haproxy.received();
    assertThat(received.subList(0, 2)).isEqualTo(removed("a", "w1"));
    assertThat(received).containsSubsequence(added("b", "w1", 2));
  }

  @ParameterizedTest
  @ValueSource(strings = {"del map", "state maint"})
  void aWorkerThatReturnsAfterAPartialRemovalIsAddedAgain(String last) throws Exception {
    worker("a", "http://a:1");
    slots.follow(workers);
    haproxy.breaks = command -> command.contains(last);
    assertThatThrownBy(() -> slots.follow(Map.of())).isInstanceOf(IOException.class);
    assertThat(slots.size()).isZero();
    haproxy.received();

    haproxy.breaks = _ -> false;
    slots.follow(workers);

    List<String> received = haproxy.received();
    assertThat(received.subList(0, 2)).isEqualTo(removed("a", "w1"));
    assertThat(received).containsSubsequence(added("a", "w2", 1));
    assertThat(slots.size()).isEqualTo(1);
  }

  @Test
  void anUnreachableHaproxyIsAnError() throws Exception {
    haproxy.close();
    worker("a", "http://a:1");

    assertThatThrownBy(() -> slots.follow(workers)).isInstanceOf(IOException.class);
    assertThat(slots.size()).isZero();
  }
}
