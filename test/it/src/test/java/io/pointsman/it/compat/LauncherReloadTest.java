package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reloads of routers that were started with the command line or the file of another router. */
@Timeout(180)
final class LauncherReloadTest {
  private static final String STREAM = "{\"model\":\"m\",\"prompt\":\"a\",\"stream\":true}";
  private static final String REQUEST = "{\"model\":\"m\",\"prompt\":\"a\"}";

  @TempDir Path directory;

  /** Opens at the end of the streams. */
  private final CountDownLatch streamsEnd = new CountDownLatch(1);

  private ScriptedEngine engine() throws IOException {
    return ScriptedEngine.start(
        new Faults.Healthy("m", new Faults.OpenStreams(STREAM, streamsEnd)));
  }

  private Path rayFile(ScriptedEngine engine, String more) throws IOException {
    return Files.writeString(
        directory.resolve("serve.yaml"),
        """
        applications:
        - import_path: ray.serve.llm:build_openai_app
          args:
            llm_configs:
            - model_loading_config: {model_id: m}
              workers: ["%s"]
        %s
        """
            .formatted(engine.url(), more));
  }

  private RouterProcess start(String launcher, ScriptedEngine engine, String... more)
      throws IOException {
    List<String> flags = new ArrayList<>(List.of(more));
    flags.addAll(
        switch (launcher) {
          case "vllm-router" -> List.of("--worker-urls", engine.url());
          case "production-stack" ->
              List.of(
                  "--service-discovery=static",
                  "--routing-logic=roundrobin",
                  "--static-models=m",
                  "--static-backends=" + engine.url());
          case "ray-serve" -> List.of(rayFile(engine, "").toString());
          default -> List.of("--workers", engine.url());
        });
    flags.addAll(List.of("--admin-enabled", "true"));
    return RouterProcess.startAs(launcher, flags.toArray(String[]::new));
  }

  private static HttpAnswer post(RouterProcess router, String path, String body) {
    try {
      return RawClient.call(router.port(), "POST", path, body);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits for a text in the output of a router that runs. */
  private static void await(RouterProcess router, String text) {
    WaitFor.until(
        () -> "'" + text + "' in: " + router.output(),
        WaitFor.LONG,
        () -> {
          assertThat(router.isAlive()).as(router.output()).isTrue();
          return router.output().contains(text);
        });
  }

  private static long count(ScriptedEngine engine, String body) {
    return engine.requests().stream().map(EngineRequest::bodyText).filter(body::equals).count();
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve", "vllm-router", "production-stack", "ray-serve"})
  void aHangUpEndsNoRouterAndNoStream(String launcher) throws Exception {
    try (ScriptedEngine engine = engine();
        RouterProcess router = start(launcher, engine);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      CompletableFuture<HttpAnswer> stream =
          CompletableFuture.supplyAsync(() -> post(router, "/v1/completions", STREAM), threads);
      WaitFor.until("the stream runs", WaitFor.LONG, () -> count(engine, STREAM) == 1);

      router.hangUp();
      await(router, "configuration reloaded, with 1 workers; changed: nothing");
      HttpAnswer reload = post(router, "/config/reload", "");

      assertThat(reload.status()).as(reload.text()).isEqualTo(200);
      assertThat(post(router, "/v1/completions", REQUEST).status()).isEqualTo(200);
      assertThat(stream).isNotDone();
      streamsEnd.countDown();
      assertThat(stream.get().text()).isEqualTo("data: begun\n\ndata: [DONE]\n\n");
      router.verify();
    }
  }

  @Test
  void raysFileAppliesAfterAChangeAndAfterAHangUp() throws Exception {
    try (ScriptedEngine first = engine();
        ScriptedEngine second = engine();
        RouterProcess router = start("ray-serve", first)) {
      assertThat(post(router, "/v1/completions", REQUEST).status()).isEqualTo(200);

      rayFile(second, "proxy_location: EveryNode");
      await(router, "configuration reloaded, with 1 workers; changed: workers");
      await(router, "serve.yaml: proxy_location: no effect here");
      WaitFor.until(
          "the second serves",
          WaitFor.LONG,
          () ->
              post(router, "/v1/completions", REQUEST).status() == 200
                  && count(second, REQUEST) > 0);
      long served = count(first, REQUEST);

      rayFile(first, "no_such_key: 1");
      router.hangUp();
      await(router, "no_such_key: unknown key");
      assertThat(router.output()).contains("not reloaded, the previous one stays active: ");
      assertThat(post(router, "/v1/completions", REQUEST).status()).isEqualTo(200);
      assertThat(count(first, REQUEST)).as("requests to the removed worker").isEqualTo(served);

      rayFile(first, "http_options: {request_timeout_s: 50}");
      router.hangUp();
      await(router, "timeouts.total");
      router.verify();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"vllm-router", "production-stack", "ray-serve"})
  @Tag("full")
  void aHangUpReadsFilesOfKeysAgain(String launcher) throws Exception {
    Path key = Files.writeString(directory.resolve("key"), "first");
    try (ScriptedEngine engine = engine();
        RouterProcess router = start(launcher, engine, "--api-key-file", key.toString())) {
      assertThat(post(router, "/v1/completions", REQUEST).status()).isEqualTo(200);
      Files.writeString(key, "second");
      router.hangUp();
      await(router, "changed: api-key");
      assertThat(post(router, "/v1/completions", REQUEST).status()).isEqualTo(200);
      assertThat(engine.requests().getLast().header("authorization")).isEqualTo("Bearer second");
      router.verify();
    }
  }
}
