package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Alternatives;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.choice.SplitChoices;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.rule.SplitRequest;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.coding.BodyCoding;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.reader.Readers;
import java.io.IOException;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The engine for a program that forwards requests itself. Workers are probed, and requests are read
 * and placed as in the router. No port is opened. Thread-safe.
 */
public final class EmbeddedEngine implements AutoCloseable {
  /** The embedding program provides its own metrics. */
  private static final EngineListener NOBODY = _ -> {};

  private final Deque<AutoCloseable> opened;
  private final Fleet fleet;
  private final RoutingEngine engine;
  private final Choices choices;
  private final @Nullable SplitChoices splitChoices;
  private final Alternatives alternatives;
  private final Readers readers;
  private final PromptListener prompts;

  /**
   * @param opened receives the resources to close, newest first; also if the constructor fails
   */
  private EmbeddedEngine(PointsmanConfig config, Deque<AutoCloseable> opened) throws IOException {
    this.opened = opened;
    EngineAssembly core = new EngineAssembly(config, opened);
    fleet = core.fleet;
    engine = core.engine(core.policies, NOBODY, () -> false);
    choices = core.choices(engine, config.decide().leases());
    splitChoices = core.two.choices(engine, choices, core.random);
    alternatives = new Alternatives(engine, core.ticker, core.random);
    readers = new Readers(config::affinity, engine::wanted);
    prompts = core.prompts((_, _) -> {});
    core.listen((_, _) -> {});
    core.watch();
  }

  /**
   * Starts probing the workers.
   *
   * @throws StartException if the engine cannot start; all resources are then released
   */
  public static EmbeddedEngine start(PointsmanConfig config) {
    return OpenedParts.start(opened -> new EmbeddedEngine(config, opened));
  }

  /** The workers; they can be added and removed at any time. */
  public Fleet fleet() {
    return fleet;
  }

  /** Chooses workers for requests, and confirms, renews and settles leases. */
  public Choices choices() {
    return choices;
  }

  /**
   * Chooses prefill and decode workers; null without {@code disaggregation.protocol}. Its leases
   * belong to {@link #choices}.
   */
  public @Nullable SplitChoices splitChoices() {
    return splitChoices;
  }

  /** Finds further workers that can serve a request. */
  public Alternatives alternatives() {
    return alternatives;
  }

  /**
   * Reads a client's request for {@link #choices}.
   *
   * @param path path of the request, for example {@code /v1/chat/completions}
   * @param headers values by name; names are case-insensitive
   * @param body the original body; not changed and not kept
   * @throws IllegalArgumentException if the body must be a JSON object and is not, or if it must
   *     name a model and does not; the message is for the client
   */
  public RoutingRequest read(
      String method, String path, Map<String, List<String>> headers, byte[] body) {
    RequestFacts facts = facts(method, path, headers, body);
    return RoutingRequest.builder()
        .model(facts.model())
        .prefix(facts.prefix())
        .affinity(facts.affinity())
        .fields(facts.fields())
        .build();
  }

  /**
   * Reads a client's request for {@link #splitChoices}.
   *
   * @param id the client's request id, or a generated one; visible ASCII
   * @throws IllegalArgumentException as {@link #read}
   */
  public SplitChoices.Asked readForTwo(
      String method, String path, Map<String, List<String>> headers, byte[] body, String id) {
    RequestFacts facts = facts(method, path, headers, body);
    SplitFacts split = new SplitFactsReader().read(facts.endpoint(), body, 0, body.length, true);
    SplitRequest request =
        new SplitRequest(facts.model(), facts.prefix(), facts.affinity(), split, facts.fields());
    return new SplitChoices.Asked(request, path, id);
  }

  private RequestFacts facts(
      String method, String path, Map<String, List<String>> headers, byte[] body) {
    ListedHeaders read = new ListedHeaders(headers);
    RequestFacts facts =
        readers.read(Endpoint.of(method, path), read, body, 0, body.length, false).at(path);
    String refusal = facts.refusal();
    if (refusal == null) {
      refusal = facts.unnamed(engine.modelsToName(), RequestFacts.WHOLE);
    }
    if (refusal != null) {
      throw new IllegalArgumentException(refusal);
    }
    if (prompts.wants(facts) && !BodyCoding.of(read).present()) {
      prompts.sent(facts, null, read.first("authorization"), body.clone());
    }
    return facts;
  }

  /** Stops probing and releases all resources. Open leases stay unchanged. */
  @Override
  public void close() {
    OpenedParts.closeAll(opened);
  }
}
