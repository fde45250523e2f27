package io.pointsman.app.health;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks engines how many tokens their KV memory holds: SGLang by {@code max_total_num_tokens} of
 * {@code GET /get_server_info}, vLLM by {@code cache_config_info} of {@code GET /metrics}.
 * Blocking, for the threads that probe. An engine that says neither keeps what is configured.
 */
public final class KvCapacity {
  private static final Logger log = LoggerFactory.getLogger(KvCapacity.class);

  private static final Pattern TOTAL_TOKENS =
      Pattern.compile("\"max_total_num_tokens\"\\s*:\\s*([0-9]{1,10})\\b");
  private static final Pattern CACHE_CONFIG = Pattern.compile("cache_config_info\\{([^}]*)}");
  private static final Pattern BLOCK_SIZE = Pattern.compile("\\bblock_size=\"([0-9]{1,9})\"");
  private static final Pattern BLOCKS = Pattern.compile("\\bnum_gpu_blocks=\"([0-9]{1,9})\"");

  private final EngineClient client;
  private final Duration timeout;

  /**
   * @param timeout of each of the two questions
   */
  public KvCapacity(EngineClient client, Duration timeout) {
    this.client = client;
    this.timeout = timeout;
  }

  /** Lets the worker know its own size, if its engine says so. */
  public void learn(Worker worker) {
    for (String path : List.of("/get_server_info", "/metrics")) {
      long tokens = ask(worker, path);
      if (tokens > 0) {
        worker.learnKvTokens((int) Math.min(Integer.MAX_VALUE, tokens));
        return;
      }
    }
    log.debug("{} does not tell its KV memory", worker);
  }

  private long ask(Worker worker, String path) {
    try {
      EngineClient.Answer answer =
          client.send(worker.spec().role(), "GET", worker.spec().url() + path, timeout);
      return answer.good() ? tokens(new String(answer.body(), UTF_8)) : 0;
    } catch (IOException | IllegalArgumentException e) {
      log.debug("{} of {}: {}", path, worker, e.toString());
      return 0;
    }
  }

  /** Tokens of KV memory, by what an engine tells; 0 if it does not. */
  static long tokens(String told) {
    Matcher total = TOTAL_TOKENS.matcher(told);
    if (total.find()) {
      return Long.parseLong(total.group(1));
    }
    Matcher config = CACHE_CONFIG.matcher(told);
    return config.find()
        ? number(BLOCK_SIZE, config.group(1)) * number(BLOCKS, config.group(1))
        : 0;
  }

  private static long number(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
  }
}
