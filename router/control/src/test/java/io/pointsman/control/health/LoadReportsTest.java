package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.QueueReport;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.Await;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Running and queued requests in the metrics of engines. */
@Timeout(60)
@SuppressWarnings("StringConcatToTextBlock") // lines of metrics
class LoadReportsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
            + "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 4.0\n",
        "vllm:num_requests_running{model_name=\"m\"} 3.0\n"
            + "vllm:num_requests_waiting{model_name=\"m\"} 4.0\n"
            + "vllm:num_requests_waiting_by_reason{reason=\"x\"} 4.0\n",
        "sglang:num_running_reqs{model_name=\"m\"} 3.0\n"
            + "sglang:num_queue_reqs{model_name=\"m\"} 4.0\n",
        "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 3\n"
            + "llamacpp:requests_deferred 4\n",
        "# TYPE tgi_queue_size gauge\ntgi_queue_size 4\ntgi_batch_current_size 3\n"
      })
  void enginesNameTheirLoad(String metrics) {
    assertThat(LoadReports.requests("# HELP x y\n" + metrics, WorkerSpec.NO_RANK)).isEqualTo(7);
  }

  @Test
  void aRankHasItsOwnLoad() {
    String metrics =
        "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_waiting{engine=\"0\"} 4\n"
            + "vllm:num_requests_running{engine=\"1\"} 1\n";
    assertThat(LoadReports.requests(metrics, WorkerSpec.NO_RANK)).isEqualTo(8);
    assertThat(LoadReports.requests(metrics, 0)).isEqualTo(7);
    assertThat(LoadReports.requests(metrics, 1)).isEqualTo(1);
    assertThat(LoadReports.requests(metrics, 2)).isEqualTo(-1);
    assertThat(LoadReports.requests("go_goroutines 9\n", WorkerSpec.NO_RANK)).isEqualTo(-1);
  }

  @Test
  void healthyWorkersAreAskedAndFailuresLeaveNoReport() {
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, System::nanoTime);
    Worker good = worker(fleet, "http://good:1");
    Worker broken = worker(fleet, "http://broken:1");
    LoadReports.Question question =
        (_, url, _) -> {
          if (!url.equals("http://good:1/metrics")) {
            throw new IOException("broken");
          }
          return new EngineClient.Answer(200, "vllm:num_requests_running 5\n".getBytes(UTF_8));
        };
    try (LoadReports _ =
        LoadReports.start(fleet, question, Duration.ofMillis(10), Duration.ofSeconds(1))) {
      Await.until("a report", () -> good.queueReport() != null);
      QueueReport report = Objects.requireNonNull(good.queueReport());
      assertThat(report.requests()).isEqualTo(5);
      assertThat(broken.queueReport()).isNull();
    }
  }

  private static Worker worker(Fleet fleet, String url) {
    Worker worker = fleet.add(WorkerSpec.of(url));
    worker.probed(true);
    return worker;
  }
}
