package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Queries engines for the size of their KV cache in tokens. SGLang reports {@code
 * max_total_num_tokens} at {@code GET /get_server_info}, newer versions at {@code /server_info}.
 * vLLM reports {@code cache_config_info} in {@code GET /metrics}. If an engine reports neither, the
 * configured value stays. Blocks; called by the threads that probe.
 *
 * <p>For data-parallel engines, SGLang reports the size of one rank and the number of ranks. vLLM
 * has one series per rank, with {@code kv_cache_size_tokens} of that rank and {@code
 * num_gpu_blocks} of all ranks together. A worker that is a whole engine gets the sum; a worker
 * that is one rank gets the size of the rank.
 */
public final class KvCapacity {
  private static final Logger log = LoggerFactory.getLogger(KvCapacity.class);

  private static final Pattern TOTAL_TOKENS =
      Pattern.compile("\"max_total_num_tokens\"\\s*:\\s*([0-9]{1,10})\\b");
  private static final Pattern RANKS = Pattern.compile("\"dp_size\"\\s*:\\s*([0-9]{1,4})\\b");
  private static final Pattern CACHE_CONFIG = Pattern.compile("cache_config_info\\{([^}]*)}");
  private static final Pattern BLOCK_SIZE = Pattern.compile("\\bblock_size=\"([0-9]{1,9})\"");
  private static final Pattern ENGINE = Pattern.compile("\\bengine=\"([0-9]{1,4})\"");
  private static final Pattern SIZE = Pattern.compile("\\bkv_cache_size_tokens=\"([0-9]{1,10})\"");
  private static final Pattern BLOCKS = Pattern.compile("\\bnum_gpu_blocks=\"([0-9]{1,9})\"");

  private final EngineClient client;
  private final Supplier<Duration> timeout;

  /**
   * @param timeout time limit of each request; may change
   */
  public KvCapacity(EngineClient client, Supplier<Duration> timeout) {
    this.client = client;
    this.timeout = timeout;
  }

  /** Sets the worker's own cache size, if its engine reports it. */
  public void learn(Worker worker) {
    for (String path : List.of("/get_server_info", "/server_info", "/metrics")) {
      long tokens = ask(worker, path);
      if (tokens > 0) {
        worker.learnKvTokens((int) Math.min(Integer.MAX_VALUE, tokens));
        return;
      }
    }
    log.debug("{} does not report its KV memory", worker);
  }

  private long ask(Worker worker, String path) {
    try {
      EngineClient.Answer answer =
          client.send(worker.spec(), "GET", worker.spec().base() + path, timeout.get());
      boolean oneRank = worker.spec().rank() != WorkerSpec.NO_RANK;
      return answer.good() ? tokens(new String(answer.body(), UTF_8), oneRank) : 0;
    } catch (IOException | IllegalArgumentException e) {
      log.debug("{} of {}: {}", path, worker, LogText.of(e));
      return 0;
    }
  }

  /**
   * Tokens of KV cache in an engine's response; 0 if it contains no size.
   *
   * @param oneRank true: of one data-parallel rank; false: of the whole engine
   */
  static long tokens(String page, boolean oneRank) {
    Matcher total = TOTAL_TOKENS.matcher(page);
    if (total.find()) {
      long ranks = oneRank ? 1 : Math.max(1, number(RANKS, page));
      return Long.parseLong(total.group(1)) * ranks;
    }
    return byConfig(page, oneRank);
  }

  private static long byConfig(String page, boolean oneRank) {
    Set<Long> engines = new HashSet<>();
    long ofRank = 0;
    long ofAll = 0;
    Matcher config = CACHE_CONFIG.matcher(page);
    while (config.find()) {
      String labels = config.group(1);
      engines.add(number(ENGINE, labels));
      ofRank = Math.max(ofRank, number(SIZE, labels));
      ofAll = Math.max(ofAll, number(BLOCK_SIZE, labels) * number(BLOCKS, labels));
    }
    int ranks = Math.max(1, engines.size());
    long each = ofRank > 0 ? ofRank : ofAll / ranks;
    return oneRank ? each : each * ranks;
  }

  private static long number(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
  }
}
