package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the running and queued requests of engines from {@code GET /metrics}, at an interval. Knows
 * the names of vLLM, SGLang, llama.cpp and TGI. The ranks of one engine share a request. An engine
 * without these metrics has no report. Each request has its own virtual thread.
 */
public final class LoadReports implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(LoadReports.class);
  private static final int MOST_AT_ONCE = 32;

  /** A report is used for this number of intervals. */
  private static final int VALID_INTERVALS = 3;

  private static final Pattern LOAD =
      Pattern.compile(
          "^(?:vllm:num_requests_(?:running|waiting)"
              + "|sglang[:_]num_(?:running_reqs|queue_reqs)"
              + "|llamacpp:requests_(?:processing|deferred)"
              + "|tgi_(?:batch_current_size|queue_size))"
              + "(?:\\{([^}]*)})?\\s+([0-9.eE+]+)",
          Pattern.MULTILINE);

  private static final Pattern RANK = Pattern.compile("\\b(?:engine|dp_rank)=\"([0-9]{1,4})\"");

  /** Sends a request to an engine. */
  @FunctionalInterface
  public interface Question {
    /**
     * The response to a GET.
     *
     * @throws IOException if there is no response in time
     */
    EngineClient.Answer ask(WorkerSpec worker, String url, Duration timeout) throws IOException;
  }

  private final Fleet fleet;
  private final Question question;
  private final Duration interval;
  private final Duration timeout;
  private final Semaphore places = new Semaphore(MOST_AT_ONCE);
  private final Rounds rounds;

  private LoadReports(Fleet fleet, Question question, Duration interval, Duration timeout) {
    this.fleet = fleet;
    this.question = question;
    this.interval = interval;
    this.timeout = timeout.compareTo(interval) < 0 ? timeout : interval;
    rounds = Rounds.start("load-reports", interval, this::ask);
  }

  /**
   * Starts; the first requests are sent at once.
   *
   * @param timeout time limit of each request; at most the interval
   */
  public static LoadReports start(
      Fleet fleet, Question question, Duration interval, Duration timeout) {
    return new LoadReports(fleet, question, interval, timeout);
  }

  private void ask() {
    Map<String, List<Worker>> byUrl = new LinkedHashMap<>();
    for (Worker worker : fleet.snapshot().workers()) {
      if (worker.health().healthy()) {
        byUrl.computeIfAbsent(worker.spec().base(), _ -> new ArrayList<>()).add(worker);
      }
    }
    byUrl.forEach(
        (url, workers) -> {
          if (places.tryAcquire()) {
            Thread.ofVirtual().name("load-of-" + url).start(() -> ask(url, workers));
          }
        });
  }

  private void ask(String url, List<Worker> workers) {
    try {
      EngineClient.Answer answer =
          question.ask(workers.getFirst().spec(), url + "/metrics", timeout);
      String metrics = answer.good() ? new String(answer.body(), UTF_8) : "";
      for (Worker worker : workers) {
        int requests = requests(metrics, worker.spec().rank());
        if (requests >= 0) {
          worker.reportQueue(requests, interval.multipliedBy(VALID_INTERVALS).toNanos());
        }
      }
    } catch (IOException | IllegalArgumentException e) {
      log.debug("{} does not report its load: {}", url, e.toString());
    } finally {
      places.release();
    }
  }

  /**
   * Running and queued requests in an engine's metrics; -1 if there are none.
   *
   * @param rank data-parallel rank whose series count, if they name ranks; negative for all
   */
  static int requests(String metrics, int rank) {
    double sum = -1;
    Matcher load = LOAD.matcher(metrics);
    while (load.find()) {
      String labels = load.group(1) == null ? "" : load.group(1);
      Matcher ofRank = RANK.matcher(labels);
      boolean counts =
          rank == WorkerSpec.NO_RANK || !ofRank.find() || Integer.parseInt(ofRank.group(1)) == rank;
      sum = counts ? Math.max(0, sum) + Double.parseDouble(load.group(2)) : sum;
    }
    return (int) Math.min(Integer.MAX_VALUE, sum);
  }

  /** Asks no more. */
  @Override
  public void close() {
    rounds.close();
  }
}
