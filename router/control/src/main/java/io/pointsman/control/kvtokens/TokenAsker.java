package io.pointsman.control.kvtokens;

import io.pointsman.config.settings.TokenSettings;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvtokens.TokenTally.Result;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.reader.Readers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Queries engines for the token ids of prompts that came as text. The blocks of the next turn can
 * then be compared with KV events. A request is already on its way when its prompt is queried, and
 * nothing waits for the response.
 *
 * <p>The query goes to the worker with the request, otherwise to another worker of its model that
 * does not rest. A worker gets one query at a time, and queries take at most a share of its time.
 * Prompts beyond it are not queried, nor prompts that are mostly known. A few virtual threads send
 * the queries; prompts that exceed the queue are dropped.
 */
public final class TokenAsker implements PromptListener, AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(TokenAsker.class);

  /** Maximum size of a request body in bytes; larger requests are not queried. */
  private static final int MOST_BODY = 2 << 20;

  private static final long MOST_WAITING_BYTES = 32L << 20;
  private static final String TOKENIZE = "/tokenize";
  private static final ListedHeaders NO_HEADERS = new ListedHeaders(Map.of());

  /** Interval of the check whether token ids are useful. */
  private static final long LOOK_NANOS = Duration.ofMillis(200).toNanos();

  /** Known share of a prompt from which on it is not queried. */
  private static final double MOSTLY = 0.75;

  /** Maximum number of candidates besides the worker with the request. */
  private static final int CONSIDERED = 16;

  /** A blocking query to an engine. */
  @FunctionalInterface
  public interface Question {
    /**
     * The response to a POST.
     *
     * @param authorization sent if the router has no key; null: none
     * @throws IOException if there is no response in time
     */
    EngineClient.Answer post(
        Worker worker, String path, byte[] body, @Nullable String authorization, Duration timeout)
        throws IOException;
  }

  @SuppressWarnings("ArrayRecordComponent") // passed on without copy, never compared
  private record Prompt(
      RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body) {}

  private final TokenSettings settings;
  private final Fleet fleet;
  private final KnownTexts texts;
  private final BooleanSupplier useful;
  private final Question question;
  private final Readers readers;
  private final Ticker ticker;
  private final TokenTally tally;
  private final BlockingQueue<Prompt> waiting;
  private final AtomicLong waitingBytes = new AtomicLong();
  private final Map<Worker, TokenQueryState> states = new ConcurrentHashMap<>();

  /** Hashes of prompts that are queued or being queried; limited by the queue. */
  private final Map<Long, Boolean> pending = new ConcurrentHashMap<>();

  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;

  /** Last result of {@link #useful} and its time; a race only causes a second check. */
  private volatile boolean wanted;

  private volatile long lookedAt;

  /**
   * Does nothing before {@link #start}.
   *
   * @param texts receives the token ids
   * @param useful true if there are KV events to compare token ids with
   * @param readers compute the routing keys of the beginnings of prompts
   * @param tally counts the results of all prompts
   */
  public TokenAsker(
      TokenSettings settings,
      Fleet fleet,
      KnownTexts texts,
      BooleanSupplier useful,
      Question question,
      Readers readers,
      TokenTally tally,
      Ticker ticker) {
    this.settings = settings;
    this.fleet = fleet;
    this.texts = texts;
    this.useful = useful;
    this.question = question;
    this.readers = readers;
    this.tally = tally;
    this.ticker = ticker;
    waiting = new ArrayBlockingQueue<>(settings.queue());
    lookedAt = ticker.nanos() - LOOK_NANOS;
  }

  /** Starts the querying threads. */
  public TokenAsker start() {
    for (int i = 0; i < settings.atOnce(); i++) {
      threads.add(Thread.ofVirtual().name("token-ids-" + i).start(this::run));
    }
    return this;
  }

  @Override
  public boolean wants(RequestFacts facts) {
    boolean text = facts.prefix().count() > 0 && !facts.prefix().tokenIds();
    return text
        && PromptBody.asks(facts.endpoint())
        && facts.prefix().length() <= MOST_BODY
        && isUseful()
        && !mostlyKnown(facts.prefix())
        && !pending.containsKey(facts.prefix().whole());
  }

  /** True if most of the prompt is known; policies infer the rest from placements. */
  private boolean mostlyKnown(PrefixBlocks prompt) {
    if (texts.knows(prompt)) {
      return true;
    }
    PrefixBlocks known = texts.unseen().of(prompt);
    return known != null && known.length() >= MOSTLY * known.tokens();
  }

  private boolean isUseful() {
    long now = ticker.nanos();
    if (now - lookedAt >= LOOK_NANOS) {
      lookedAt = now;
      wanted = useful.getAsBoolean();
    }
    return wanted;
  }

  @Override
  public void sent(
      RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body) {
    long whole = facts.prefix().whole();
    if (closed || body.length > MOST_BODY || pending.putIfAbsent(whole, true) != null) {
      return;
    }
    boolean room = waitingBytes.addAndGet(body.length) <= MOST_WAITING_BYTES;
    if (!room || !waiting.offer(new Prompt(facts, worker, printable(authorization), body))) {
      waitingBytes.addAndGet(-body.length);
      pending.remove(whole);
      tally.count(Result.DROPPED);
    }
  }

  /** The value if it is valid in a header; otherwise null. */
  private static @Nullable String printable(@Nullable String value) {
    return value != null && value.chars().allMatch(c -> c >= ' ' && c <= '~') ? value : null;
  }

  private void run() {
    try {
      while (!closed) {
        Prompt prompt = waiting.take();
        waitingBytes.addAndGet(-prompt.body.length);
        Result result = asked(prompt);
        pending.remove(prompt.facts.prefix().whole());
        if (result != null) {
          tally.count(result);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Queries one prompt; null if it is not eligible. */
  private @Nullable Result asked(Prompt prompt) {
    try {
      PromptBody body = PromptBody.of(prompt.facts.endpoint(), prompt.body);
      return body == null ? null : ask(prompt, body);
    } catch (RuntimeException e) {
      log.error("token ids of a prompt could not be requested", e);
      return Result.FAILED;
    }
  }

  private Result ask(Prompt prompt, PromptBody body) {
    byte[] tokenize = body.tokenizeBody();
    Worker worker = choose(prompt, body, tokenize != null);
    if (worker == null) {
      return Result.NO_ENGINE;
    }
    TokenQueryState state = state(worker);
    long begun = ticker.nanos();
    if (!state.begin(begun)) {
      return Result.LIMITED;
    }
    try {
      return ask(prompt, body, tokenize, worker, state);
    } finally {
      state.end(begun, ticker.nanos());
    }
  }

  private Result ask(
      Prompt prompt,
      PromptBody body,
      byte @Nullable [] tokenize,
      Worker worker,
      TokenQueryState state) {
    Result result = Result.NO_ENGINE;
    if (state.has(body.renderPath(), ticker.nanos())) {
      result = post(prompt, worker, state, body, body.renderPath(), body.renderBody());
    }
    if (result == Result.NO_ENGINE && tokenize != null && state.has(TOKENIZE, ticker.nanos())) {
      result = post(prompt, worker, state, body, TOKENIZE, tokenize);
    }
    return result;
  }

  /** The worker to query; one that is spared only if all are. Null if none can be queried. */
  private @Nullable Worker choose(Prompt prompt, PromptBody body, boolean tokenize) {
    Worker sent = prompt.worker;
    boolean sentMay = sent != null && mayBeAsked(sent, body, tokenize);
    if (sent != null && sentMay && !state(sent).spared(ticker.nanos())) {
      return sent;
    }
    Worker other = other(prompt, body, tokenize);
    return sentMay && (other == null || state(other).spared(ticker.nanos())) ? sent : other;
  }

  private @Nullable Worker other(Prompt prompt, PromptBody body, boolean tokenize) {
    Worker sent = prompt.worker;
    Role role = sent == null ? Role.REGULAR : sent.spec().role();
    Pool pool = pool(role, prompt.facts.model());
    if (pool == null && sent == null) {
      pool = pool(Role.PREFILL, prompt.facts.model());
    }
    return pool == null
        ? null
        : pool.workers().stream()
            .limit(CONSIDERED)
            .filter(worker -> mayBeAsked(worker, body, tokenize))
            .min(Comparator.comparing(worker -> state(worker).spared(ticker.nanos())))
            .orElse(null);
  }

  private @Nullable Pool pool(Role role, @Nullable String model) {
    FleetSnapshot snapshot = fleet.snapshot();
    return model == null ? snapshot.ofAnyModel(role) : snapshot.pool(role, model);
  }

  private boolean mayBeAsked(Worker worker, PromptBody body, boolean tokenize) {
    long now = ticker.nanos();
    TokenQueryState state = state(worker);
    return !worker.left()
        && worker.health().healthy()
        && !state.rests(now)
        && (state.has(body.renderPath(), now) || (tokenize && state.has(TOKENIZE, now)));
  }

  private TokenQueryState state(Worker worker) {
    TokenQueryState present = states.get(worker);
    if (present != null) {
      return present;
    }
    states.keySet().removeIf(Worker::left);
    return states.computeIfAbsent(
        worker, _ -> new TokenQueryState(settings.share(), ticker.nanos()));
  }

  /** Sends one query; {@link Result#NO_ENGINE} if the worker lacks the route. */
  private Result post(
      Prompt prompt,
      Worker worker,
      TokenQueryState state,
      PromptBody body,
      String path,
      byte[] sent) {
    EngineClient.Answer answer;
    try {
      answer = question.post(worker, path, sent, prompt.authorization, settings.timeout());
    } catch (IOException | IllegalArgumentException e) {
      state.failed(ticker.nanos());
      log.debug("{} of {}: {}", path, worker, LogText.of(e));
      return Result.FAILED;
    }
    int status = answer.status();
    if (status == 404 || status == 405 || status == 501) {
      state.lacks(path, ticker.nanos());
      return Result.NO_ENGINE;
    }
    if (status == 400 || status == 413 || status == 422) {
      return Result.REFUSED;
    }
    if (!answer.good()) {
      state.failed(ticker.nanos());
      return Result.FAILED;
    }
    state.answered();
    int[] ids =
        path.equals(TOKENIZE)
            ? TokenAnswer.tokenized(answer.body())
            : TokenAnswer.rendered(answer.body());
    if (ids == null) {
      return Result.UNUSABLE;
    }
    learn(prompt, body, ids);
    return Result.LEARNED;
  }

  private void learn(Prompt prompt, PromptBody body, int[] ids) {
    if (body.oneText()) {
      texts.learnText(prompt.facts.prefix(), ids);
      return;
    }
    byte[] beginning = body.beginning();
    long hash = beginning == null ? 0 : whole(prompt.facts.endpoint(), beginning);
    texts.learnMessages(prompt.facts.prefix(), hash, ids);
  }

  private long whole(Endpoint endpoint, byte[] body) {
    return readers.read(endpoint, NO_HEADERS, body, 0, body.length, false).prefix().whole();
  }

  /** Stops querying. */
  @Override
  public void close() {
    closed = true;
    threads.forEach(Thread::interrupt);
  }
}
