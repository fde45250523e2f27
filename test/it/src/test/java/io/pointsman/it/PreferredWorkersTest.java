package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Near workers and workers with an adapter are preferred, for every proxy. */
@Timeout(180)
@Tag("full")
final class PreferredWorkersTest {
  private static final int TIMES = 12;
  private static final Pattern ID = Pattern.compile("\"worker\":\\{\"id\":\"([^\"]+)\"");
  private static final Pattern REPLICA = Pattern.compile("\"replica_id\":\"([^\"]+)\"");

  private final EventLoopGroup loops = SimEngine.newGroup(2);
  private final List<SimEngine> engines = new ArrayList<>();

  private SimEngine engine(String... models) throws IOException {
    SimConfig config = SimConfig.instant().withModels(models).withScaleOut(true);
    SimEngine engine = SimEngine.start(config.withId("e" + engines.size()), loops);
    engines.add(engine);
    return engine;
  }

  @AfterEach
  void closeAll() {
    engines.forEach(SimEngine::close);
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  private RunningRouter router(String more, String workers) {
    RunningRouter router =
        RunningRouter.start(
            "listen: {port: 0}\nmetrics: {port: 0}\nlog: {level: warn}\n" + more + workers);
    WaitFor.until(
        () -> "all workers healthy: " + router.workers(),
        WaitFor.LONG,
        () ->
            router.workers().stream().allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
    return router;
  }

  private static String worker(SimEngine engine, String more) {
    return "  - {url: \"%s\"%s}\n".formatted(engine.url(), more);
  }

  private static String id(SimEngine engine) {
    return engine.url().substring("http://".length());
  }

  /** The workers chosen for requests of each proxy. */
  private static Set<String> chosen(RunningRouter router, String model) throws IOException {
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < TIMES; i++) {
      String body =
          "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":\"number %d\"}".formatted(model, i);
      HttpAnswer proxied = RawClient.call(router.port(), "POST", "/v1/completions", body);
      assertThat(proxied.status()).as(proxied.text()).isEqualTo(200);
      ids.add(String.valueOf(proxied.header("x-pointsman-worker")));
      String question = "{\"path\":\"/v1/completions\",\"reserve\":false,\"body\":" + body + "}";
      ids.add(found(ID, RawClient.call(router.port(), "POST", "/v1/decide", question)));
      ids.add(found(REPLICA, RawClient.call(router.port(), "POST", "/internal/route", body)));
    }
    return ids;
  }

  private static void remove(RunningRouter router, SimEngine engine) throws IOException {
    int before = router.workers().size();
    String encoded = URLEncoder.encode(engine.url(), StandardCharsets.UTF_8);
    HttpAnswer answer = RawClient.call(router.port(), "DELETE", "/workers/" + encoded, "");
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    WaitFor.until(
        () -> "one worker less: " + router.workers(),
        WaitFor.LONG,
        () -> router.workers().size() == before - 1);
  }

  private static String found(Pattern pattern, HttpAnswer answer) {
    Matcher matcher = pattern.matcher(answer.text());
    assertThat(matcher.find()).as(answer.text()).isTrue();
    return matcher.group(1);
  }

  @Test
  void nearWorkersServeWhileThereAreAny() throws IOException {
    SimEngine near = engine("sim");
    SimEngine zone = engine("sim");
    SimEngine far = engine("sim");
    String workers =
        "workers:\n"
            + worker(far, ", node: n3, zone: z2")
            + worker(zone, ", node: n2, zone: z1")
            + worker(near, ", node: n1, zone: z1");
    try (RunningRouter router =
        router("policy: round_robin\nlocality: {node: n1, zone: z1}\n", workers)) {
      assertThat(chosen(router, "sim")).containsExactly(id(near));

      remove(router, near);
      assertThat(chosen(router, "sim")).containsExactly(id(zone));

      remove(router, zone);
      assertThat(chosen(router, "sim")).containsExactly(id(far));
    }
  }

  @Test
  void anAdapterIsServedWhereItIsListed() throws IOException {
    SimEngine plain = engine("base");
    SimEngine listing = engine("base", "base:x");
    String workers = "workers:\n" + worker(plain, "") + worker(listing, "");
    try (RunningRouter router =
        router("policy: round_robin\nunknown-model: base-model\n", workers)) {
      assertThat(chosen(router, "base:x")).containsExactly(id(listing));
      assertThat(chosen(router, "base")).containsExactlyInAnyOrder(id(plain), id(listing));
    }
  }
}
