package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.ReportedLoad;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the load of engines from {@code GET /metrics}: requests that run and wait, and the use of
 * KV memory. It includes the requests of other clients and routers. Knows the names of vLLM,
 * SGLang, llama.cpp and TGI. An engine without them, or one that fails three times in a row, has no
 * report.
 */
public final class EngineLoads {
  private static final Logger log = LoggerFactory.getLogger(EngineLoads.class);

  private static final int PARALLELISM = 32;
  private static final int TRIES = 3;
  private static final Pattern RANK = Pattern.compile("\\b(?:engine|dp_rank)=\"([0-9]{1,4})\"");
  private static final Set<String> RUNNING =
      Set.of(
          "vllm:num_requests_running",
          "sglang:num_running_reqs",
          "sglang_num_running_reqs",
          "llamacpp:requests_processing",
          "tgi_batch_current_size");
  private static final Set<String> WAITING =
      Set.of(
          "vllm:num_requests_waiting",
          "sglang:num_queue_reqs",
          "sglang_num_queue_reqs",
          "llamacpp:requests_deferred",
          "tgi_queue_size");
  private static final Set<String> KV_USE =
      Set.of("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage");

  private final Fleet fleet;
  private final EngineCall engines;
  private final Supplier<Duration> timeout;
  private final Executor threads;
  private final Semaphore slots = new Semaphore(PARALLELISM);
  private final Set<Worker> asked = ConcurrentHashMap.newKeySet();
  private final Map<Worker, Integer> failures = new ConcurrentHashMap<>();

  /** True while nobody asks; a late answer then does not count. */
  private volatile boolean stopped;

  /**
   * @param timeout maximum duration of a call; may change
   * @param threads runs the calls, which block
   */
  public EngineLoads(
      Fleet fleet, EngineCall engines, Supplier<Duration> timeout, Executor threads) {
    this.fleet = fleet;
    this.engines = engines;
    this.timeout = timeout;
    this.threads = threads;
  }

  /** Asks every healthy worker, unless its last call is in progress. */
  public void look() {
    failures.keySet().removeIf(Worker::left);
    for (Worker worker : fleet.snapshot().workers()) {
      if (worker.health().healthy() && asked.add(worker)) {
        threads.execute(() -> ask(worker));
      }
    }
  }

  /** Accepts reports, because somebody asks for them again. */
  public void begin() {
    stopped = false;
  }

  /** Removes the reports of all workers, because nobody asks for further ones. */
  public void forget() {
    stopped = true;
    fleet.snapshot().workers().forEach(worker -> worker.capacity().reports(ReportedLoad.NONE));
  }

  private void ask(Worker worker) {
    slots.acquireUninterruptibly();
    try {
      WorkerSpec spec = worker.spec();
      EngineClient.Answer answer =
          engines.send(spec, "GET", spec.base() + "/metrics", timeout.get());
      ReportedLoad load =
          answer.good() ? read(new String(answer.body(), UTF_8), spec.rank()) : null;
      if (load != null) {
        failures.remove(worker);
        worker.capacity().reports(stopped ? ReportedLoad.NONE : load);
        return;
      }
      failed(worker, "status " + answer.status() + " or none of the metrics");
    } catch (IOException | IllegalArgumentException e) {
      failed(worker, e.toString());
    } finally {
      slots.release();
      asked.remove(worker);
    }
  }

  private void failed(Worker worker, String why) {
    if (failures.merge(worker, 1, Integer::sum) == TRIES) {
      worker.capacity().reports(ReportedLoad.NONE);
      log.info("{} does not report its load: {}", worker, LogText.of(why));
    }
  }

  /**
   * The load in a page of metrics; null if it has none of the names.
   *
   * @param rank data-parallel rank of the series that count; {@link WorkerSpec#NO_RANK} for all
   */
  static @Nullable ReportedLoad read(String page, int rank) {
    boolean found = false;
    double running = 0;
    double waiting = 0;
    double kvUse = 0;
    for (String line : page.lines().toList()) {
      int space = line.lastIndexOf(' ');
      if (space <= 0 || line.charAt(0) == '#') {
        continue;
      }
      int brace = line.indexOf('{');
      String name = line.substring(0, brace < 0 ? space : brace);
      boolean load = RUNNING.contains(name) || WAITING.contains(name);
      if (!load && !KV_USE.contains(name)) {
        continue;
      }
      Matcher named = RANK.matcher(line);
      boolean ofOther =
          rank != WorkerSpec.NO_RANK
              && named.find()
              && !named.group(1).equals(Integer.toString(rank));
      double value = number(line.substring(space + 1));
      if (ofOther || !(value >= 0)) {
        continue;
      }
      found |= load;
      running += RUNNING.contains(name) ? value : 0;
      waiting += WAITING.contains(name) ? value : 0;
      kvUse = KV_USE.contains(name) ? Math.max(kvUse, value) : kvUse;
    }
    return found ? new ReportedLoad((int) running, (int) waiting, kvUse) : null;
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException _) {
      return Double.NaN;
    }
  }
}
