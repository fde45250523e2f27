package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.ReportedLoad;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

class EngineLoadsTest {
  private static final String VLLM =
      """
      # HELP vllm:num_requests_running Number of requests
      vllm:num_requests_running{engine="0",model_name="m"} 3.0
      vllm:num_requests_running{engine="1",model_name="m"} 5.0
      vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
      vllm:num_requests_waiting{engine="1",model_name="m"} 0.0
      vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
      vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.95
      vllm:num_requests_running_total 99
      """;

  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final Map<String, String> pages = new ConcurrentHashMap<>();
  private final List<Duration> limits = new CopyOnWriteArrayList<>();
  private Duration timeout = Duration.ofSeconds(1);
  private final EngineLoads loads =
      new EngineLoads(
          fleet,
          (_, _, url, limit) -> {
            limits.add(limit);
            String page = pages.get(url);
            if (page == null) {
              throw new IOException("nobody there");
            }
            return new EngineClient.Answer(200, page.getBytes(UTF_8));
          },
          () -> timeout,
          Runnable::run);

  private Worker worker(String url) {
    Worker worker = fleet.add(WorkerSpec.of(url));
    worker.probed(true);
    return worker;
  }

  @Test
  void aChangedTimeoutCountsForTheNextQuestion() {
    worker("http://a:1");
    loads.look();
    timeout = Duration.ofSeconds(7);
    loads.look();
    assertThat(limits).containsExactly(Duration.ofSeconds(1), Duration.ofSeconds(7));
  }

  @Test
  void reportsEndWhileNobodyAsks() {
    Worker worker = worker("http://a:1");
    pages.put("http://a:1/metrics", VLLM);
    loads.look();
    assertThat(worker.capacity().reported().running()).isEqualTo(8);
    loads.forget();
    assertThat(worker.capacity().reported()).isEqualTo(ReportedLoad.NONE);
    loads.look();
    assertThat(worker.capacity().reported()).as("a late answer").isEqualTo(ReportedLoad.NONE);
    loads.begin();
    loads.look();
    assertThat(worker.capacity().reported().running()).isEqualTo(8);
  }

  @Test
  void theMetricsOfEachEngineAreRead() {
    assertThat(EngineLoads.read(VLLM, WorkerSpec.NO_RANK)).isEqualTo(new ReportedLoad(8, 2, 0.95));
    assertThat(EngineLoads.read(VLLM, 0)).isEqualTo(new ReportedLoad(3, 2, 0.25));
    String sglang =
        "sglang:num_running_reqs{a=\"b c\"} 4\nsglang:num_queue_reqs 1\nsglang:token_usage 0.5\n";
    assertThat(EngineLoads.read(sglang, WorkerSpec.NO_RANK)).isEqualTo(new ReportedLoad(4, 1, 0.5));
    String llamaCpp =
        "# TYPE x gauge\nllamacpp:requests_processing 3\nllamacpp:requests_deferred 4\n";
    assertThat(EngineLoads.read(llamaCpp, 0)).isEqualTo(new ReportedLoad(3, 4, 0));
    String tgi = "tgi_queue_size 4\ntgi_batch_current_size 3\n";
    assertThat(EngineLoads.read(tgi, 0)).isEqualTo(new ReportedLoad(3, 4, 0));
    String ranks =
        "sglang:num_running_reqs{dp_rank=\"0\"} 1\nsglang:num_running_reqs{dp_rank=\"1\"} 2\n";
    assertThat(EngineLoads.read(ranks, 1)).isEqualTo(new ReportedLoad(2, 0, 0));
    assertThat(EngineLoads.read("vllm:kv_cache_usage_perc 0.5\nx y\n", 0)).isNull();
    assertThat(EngineLoads.read("vllm:num_requests_running NaN\n", 0)).isNull();
  }

  @Test
  void requestsOfOthersCountAsLoadUntilTheEngineIsSilent() {
    Worker worker = worker("http://a:1/v1");
    assertThat(worker.tryLease(clock.nanos(), 0, 0, (_, _) -> {})).isNotNull();
    pages.put(
        "http://a:1/metrics",
        "vllm:num_requests_running 4\nvllm:num_requests_waiting 3\nvllm:kv_cache_usage_perc 0.2\n");
    loads.look();
    assertThat(worker.capacity().others()).isEqualTo(6);
    assertThat(worker.load()).isEqualTo(7);
    pages.clear();
    loads.look();
    loads.look();
    assertThat(worker.load()).isEqualTo(7);
    loads.look();
    assertThat(worker.load()).isEqualTo(1);
    assertThat(worker.capacity().reported()).isEqualTo(ReportedLoad.NONE);
  }

  @Test
  void fullKvMemoryMeansLessCapacity() {
    Worker worker = worker("http://a:1");
    pages.put("http://a:1/metrics", "vllm:num_requests_running 0\nvllm:kv_cache_usage_perc 0.95\n");
    loads.look();
    assertThat(worker.share(clock.nanos())).isBetween(0.49, 0.51);
    pages.put("http://a:1/metrics", "vllm:num_requests_running 0\nvllm:kv_cache_usage_perc 0.5\n");
    loads.look();
    assertThat(worker.share(clock.nanos())).isEqualTo(1);
  }

  @Test
  void anUnhealthyWorkerIsNotAsked() {
    Worker worker = fleet.add(WorkerSpec.of("http://a:1"));
    pages.put("http://a:1/metrics", "vllm:num_requests_running 4\n");
    loads.look();
    assertThat(worker.capacity().reported()).isEqualTo(ReportedLoad.NONE);
  }
}
