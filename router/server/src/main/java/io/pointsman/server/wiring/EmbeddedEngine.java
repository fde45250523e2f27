package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.KvCapacity;
import io.pointsman.control.health.Prober;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.choice.Alternatives;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.policy.tier.Tiers;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.choice.SplitChoices;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.rule.SplitRequest;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.reader.Readers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The engine for a program that forwards requests itself. Workers are probed, and requests are read
 * and placed as in the router. No port is opened. Thread-safe.
 */
public final class EmbeddedEngine implements AutoCloseable {
  private static final Duration LEASE_LOOK = Duration.ofMillis(50);

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
  private EmbeddedEngine(PointsmanConfig config, Deque<AutoCloseable> opened) {
    this.opened = opened;
    Ticker ticker = new SystemTicker();
    RandomSource dice = new ThreadRandomSource();
    fleet = new Fleet(config.fleet(), ticker);
    fleet.addAll(config.workers());
    EngineClient client = new EngineClient(config.controlKeys(), ticker);
    KvCapacity capacity = new KvCapacity(client, config.probes().timeout());
    Prober prober =
        new Prober(fleet, config.probes(), client, ticker, dice)
            .onModels(
                (worker, _) -> {
                  if (ConfiguredPolicies.needKvCapacity(config, worker.spec().role())) {
                    capacity.learn(worker);
                  }
                });
    int maxWorkers = config.fleet().maxWorkers();
    KvIndex index = new KvIndex(config.policies().kvAware().maxIndexBytes(), maxWorkers, ticker);
    KvKnowledge knowledge = new KvKnowledge(index, TokenAsking.texts(config, ticker));
    PolicyParts parts = new PolicyParts(ticker, dice, maxWorkers, config.policies(), knowledge);
    PolicyClasses classes = new PolicyClasses(config.pluginDirectory(), opened);
    Tiers tiers = PreferredWorkers.of(config, fleet, dice);
    PolicySetup common = tiers.around(classes.create(config.policy(), parts));
    Disaggregation two =
        config.disagg().enabled()
            ? new Disaggregation(config.disagg(), fleet, maxWorkers, ticker)
            : null;
    StagePolicies ofRoles =
        two == null
            ? StagePolicies.same(common)
            : two.policies(
                common,
                name -> tiers.around(classes.create(name, withoutAffinity(parts))),
                name -> tiers.around(two.decodePolicy(name, parts, classes::create)));
    StagePolicies policies =
        ofRoles.with(new ModelPolicies(config, classes, parts, tiers).setups());
    engine =
        new RoutingEngine(
            fleet,
            policies,
            config.engine(),
            new WatchfulListener(NOBODY, prober, () -> false),
            ticker,
            dice);
    choices = new Choices(engine, config.decide().hold(), ticker, dice);
    splitChoices = two == null ? null : two.choices(engine, choices, dice);
    alternatives = new Alternatives(engine, ticker, dice);
    readers = new Readers(config.affinity(), engine.wanted());
    prompts = TokenAsking.start(config, fleet, knowledge, client, ticker, opened, (_, _) -> {});
    if (two != null) {
      listen(config, two, ticker);
    }
    opened.push(prober.start());
    opened.push(Rounds.start("held-leases", LEASE_LOOK, choices::expireDue));
    if (TokenAsking.hears(config)) {
      opened.push(KvHearing.start(config.kvEvents(), fleet, index, client, ticker, (_, _) -> {}));
    }
  }

  /**
   * Prefill policies have no affinity: the prefix finds the state that a session leaves on a
   * prefill worker.
   */
  private static PolicyParts withoutAffinity(PolicyParts parts) {
    return parts.with(parts.settings().withAffinity(SessionAffinity.Mode.OFF));
  }

  /** Opens the listeners that the protocol needs. */
  private void listen(PointsmanConfig config, Disaggregation two, Ticker ticker) {
    try {
      PeerListeners.open(config.peers(), two, fleet, config.fleet().maxWorkers(), ticker, opened);
    } catch (IOException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /**
   * Starts probing the workers.
   *
   * @throws StartException if the engine cannot start; all resources are then released
   */
  public static EmbeddedEngine start(PointsmanConfig config) {
    Deque<AutoCloseable> opened = new ArrayDeque<>();
    try {
      return new EmbeddedEngine(config, opened);
    } catch (IllegalArgumentException | IllegalStateException e) {
      OpenedParts.closeAll(opened);
      throw new StartException(String.valueOf(e.getMessage()), e);
    } catch (RuntimeException e) {
      OpenedParts.closeAll(opened);
      throw e;
    }
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
    if (prompts.wants(facts)) {
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
