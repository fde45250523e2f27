package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Healthy engines that do not report their models. */
@Timeout(60)
class UnlistedModelsTest {
  private static final String LIST = "{\"object\":\"list\",\"data\":[{\"id\":\"m\"}]}";
  private static final ProbeSettings SETTINGS =
      new ProbeSettings(
          "/health",
          List.of(),
          Duration.ofMillis(50),
          Duration.ofSeconds(10),
          Duration.ofMillis(10),
          Duration.ofMillis(50),
          8,
          Duration.ofMillis(1));

  private final Ticker ticker = new SystemTicker();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, ticker);
  private final Prober prober =
      new Prober(
          fleet,
          SETTINGS,
          new EngineClient(EngineKeys.NONE, ticker),
          ticker,
          new ThreadRandomSource());

  /** The status of {@code GET /v1/models}; 200 comes with the list. */
  private volatile int status = 200;

  /** The response with status 200. */
  private volatile String list = LIST;

  private final AtomicInteger asked = new AtomicInteger();
  private final Logger logger = (Logger) LoggerFactory.getLogger(Prober.class);
  private final LoggedWarnings logged = new LoggedWarnings();
  private HttpServer server;

  /** Lines from several threads. */
  private static final class LoggedWarnings extends AppenderBase<ILoggingEvent> {
    final List<String> lines = new CopyOnWriteArrayList<>();

    @Override
    protected void append(ILoggingEvent event) {
      if (event.getLevel() == Level.WARN) {
        lines.add(event.getFormattedMessage());
      }
    }
  }

  @BeforeEach
  void serve() throws IOException {
    logged.start();
    logger.addAppender(logged);
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext("/health", exchange -> answer(exchange, 200, ""));
    server.createContext(
        "/v1/models",
        exchange -> {
          answer(exchange, status, status == 200 ? list : "");
          asked.incrementAndGet();
        });
    server.start();
    prober.start();
  }

  private static void answer(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  @AfterEach
  void stop() {
    prober.close();
    server.stop(0);
    logger.detachAppender(logged);
  }

  /** The warnings about a worker. A probe of an earlier test may still write about another one. */
  private List<String> warnings(Worker worker) {
    return logged.lines.stream().filter(line -> line.contains(worker.toString())).toList();
  }

  private Worker worker() {
    return fleet.add(WorkerSpec.of("http://127.0.0.1:" + server.getAddress().getPort()));
  }

  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {401, 403, 404, 405})
  void engineThatRefusesToListItsModelsServesEveryModel(int refusal) {
    status = refusal;
    Worker worker = worker();
    await(() -> worker.health().healthy());

    assertThat(worker.anyModel()).isTrue();
    assertThat(warnings(worker))
        .first()
        .isEqualTo(
            worker
                + " does not list its models (GET /v1/models: "
                + refusal
                + "); it gets requests for every model");
  }

  @Test
  void theLogHasTheReasonOnceIfTheListIsNotJson() {
    list = "<html>\r\n</html>";
    Worker worker = worker();
    await(worker::anyModel);
    int before = asked.get();
    await(() -> asked.get() > before + 2);

    assertThat(warnings(worker))
        .singleElement()
        .asString()
        .startsWith("the models of " + worker + " cannot be read (GET /v1/models: not JSON: ")
        .endsWith("; it gets requests for every model");
  }

  @Test
  void theLogSaysThatReportedModelsStay() {
    Worker worker = worker();
    await(() -> worker.models().equals(Set.of("m")));
    status = 500;
    await(() -> !warnings(worker).isEmpty());

    assertThat(warnings(worker))
        .containsExactly(
            "the models of "
                + worker
                + " cannot be read (GET /v1/models: 500); it keeps the models that it reported"
                + " before");
  }

  @Test
  void engineThatFailsToListItsModelsIsUsedAfterAFewTries() {
    status = 500;
    Worker worker = worker();
    await(worker::anyModel);
    assertThat(worker.health().healthy()).isTrue();
    assertThat(asked.get()).isGreaterThanOrEqualTo(3);

    status = 200;
    await(() -> worker.models().equals(Set.of("m")));
    assertThat(worker.anyModel()).isFalse();
  }

  @Test
  void reportedModelsStayWhenAnEngineStopsReporting() {
    Worker worker = worker();
    await(() -> worker.models().equals(Set.of("m")));
    status = 404;
    int before = asked.get();
    await(() -> asked.get() > before + 2);

    assertThat(worker.models()).isEqualTo(Set.of("m"));
    assertThat(worker.anyModel()).isFalse();
  }
}
