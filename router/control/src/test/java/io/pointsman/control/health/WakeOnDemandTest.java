package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WakeOnDemandTest {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final List<String> calls = new CopyOnWriteArrayList<>();
  private final AtomicInteger status = new AtomicInteger(200);
  private volatile boolean sleeps = true;

  @SuppressWarnings("NullAway.Init") // set before each test
  private HttpServer engine;

  @SuppressWarnings("NullAway.Init") // set before each test
  private WakeOnDemand wakes;

  @BeforeEach
  void start() throws IOException {
    engine = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    engine.createContext(
        "/",
        exchange -> {
          String path = exchange.getRequestURI().getPath();
          byte[] body = ("{\"is_sleeping\":" + sleeps + "}").getBytes(UTF_8);
          int answer = 404;
          if (path.endsWith("/is_sleeping")) {
            answer = 200;
          } else if (path.endsWith("/wake_up")) {
            calls.add(path);
            answer = status.get();
            sleeps = sleeps && answer != 200;
          }
          exchange.sendResponseHeaders(answer, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    engine.start();
    EngineClient client = new EngineClient(EngineKeys.NONE, new SystemTicker());
    wakes =
        new WakeOnDemand(
            fleet,
            client::send,
            new SleepStates(client, () -> Duration.ofSeconds(30)),
            () -> Duration.ofSeconds(30),
            clock::nanos,
            Runnable::run);
  }

  @AfterEach
  void stop() {
    engine.stop(0);
  }

  private Worker worker(String base, String model, boolean asleep) {
    String url = "http://127.0.0.1:" + engine.getAddress().getPort() + base;
    Worker worker = fleet.add(WorkerSpec.of(url).withModels(Set.of(model)));
    worker.probed(true);
    worker.sleep(asleep);
    return worker;
  }

  @Test
  void oneSleepingEngineOfTheModelIsWoken() {
    Worker one = worker("/a", "m", true);
    Worker other = worker("/b", "m", true);
    Worker another = worker("/c", "n", true);
    wakes.wanted("m");
    assertThat(calls).containsExactly("/a/wake_up");
    assertThat(one.asleep()).isFalse();
    assertThat(other.asleep()).isTrue();
    assertThat(another.asleep()).isTrue();
    wakes.wanted("m");
    assertThat(calls).hasSize(1);
  }

  @Test
  void nobodyIsWokenWhileAnotherWorkerIsAwake() {
    worker("/a", "m", true);
    worker("/b", "m", false);
    wakes.wanted("m");
    wakes.wanted("unknown");
    assertThat(calls).isEmpty();
  }

  @Test
  void anEngineThatDoesNotWakeGetsItsNextCallLater() {
    status.set(500);
    Worker worker = worker("/a", "m", true);
    wakes.wanted("m");
    wakes.wanted("m");
    assertThat(calls).hasSize(1);
    assertThat(worker.asleep()).isTrue();
    clock.advance(Duration.ofSeconds(11));
    status.set(200);
    wakes.wanted("m");
    assertThat(calls).hasSize(2);
    assertThat(worker.asleep()).isFalse();
  }

  @Test
  void aCordonedWorkerSleepsOn() {
    worker("/a", "m", true).cordon(true);
    wakes.wanted("m");
    assertThat(calls).isEmpty();
  }
}
