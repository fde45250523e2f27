package io.pointsman.server.wiring;

import io.pointsman.api.decide.SplitPlacements;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.pd.choice.SplitChoices;
import io.pointsman.pd.execution.Conversations;
import io.pointsman.pd.execution.PdContext;
import io.pointsman.pd.execution.waiting.NotificationTable;
import io.pointsman.pd.execution.waiting.SlotQueues;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.pd.protocol.PdSetup;
import io.pointsman.pd.protocol.Protocols;
import io.pointsman.pd.rule.DecodeCaches;
import io.pointsman.pd.rule.JointPolicy;
import io.pointsman.pd.rule.SplitRouter;
import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.request.AffinitySettings;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Builds prefill and decode on separate workers from the configuration. They may begin, change and
 * end; a request ends by the settings with which it began.
 */
final class Disaggregation {
  private static final Logger LOG = LoggerFactory.getLogger(Disaggregation.class);

  private final PeerTable peers;
  private final NotificationTable notifications = new NotificationTable();
  private final int slots;
  private final Ticker ticker;

  private final Fleet fleet;

  /** The stages in use; replaced as a whole. Null while one worker serves each request. */
  private volatile @Nullable Stages present;

  /** Null while the built-in proxy has none. */
  private @Nullable BuiltInProxy builtIn;

  /** Null while no other proxy asks for choices. */
  private @Nullable OtherProxies others;

  /**
   * The parts that the settings determine.
   *
   * @param caches the prefixes that decode workers hold
   */
  record Stages(DisaggSettings settings, PdSetup protocol, DecodeCaches caches) {}

  /** The workers of the last snapshot; written under the fleet's lock. */
  private Set<Worker> known = Set.of();

  Disaggregation(DisaggSettings settings, Fleet fleet, int slots, Ticker ticker) {
    this.ticker = ticker;
    this.slots = slots;
    this.fleet = fleet;
    peers = new PeerTable(2 * slots);
    present = prepared(settings);
    fleet.listen(this::follow);
  }

  /** True if requests may go to two workers. */
  boolean enabled() {
    return present != null;
  }

  private PdSetup protocol(DisaggSettings by) {
    return Protocols.create(by.protocol(), peers, by.protocols(), ticker);
  }

  /**
   * The stages by other settings, before they are in use; null if they are off. The protocol keeps
   * its learned values if its settings are the same. The prefixes stay if their memory is the same.
   */
  @Nullable Stages prepared(DisaggSettings next) {
    Stages before = present;
    if (!next.enabled()) {
      return null;
    }
    if (before == null) {
      return new Stages(next, protocol(next), new DecodeCaches(next.indexMaxBytes(), slots));
    }
    DisaggSettings was = before.settings;
    boolean sameProtocol =
        next.protocol().equals(was.protocol()) && next.protocols().equals(was.protocols());
    boolean sameMemory = next.indexMaxBytes() == was.indexMaxBytes();
    return next.equals(was)
        ? before
        : new Stages(
            next,
            sameProtocol ? before.protocol : protocol(next),
            sameMemory ? before.caches : new DecodeCaches(next.indexMaxBytes(), slots));
  }

  /** Uses these stages for requests that begin later; null: one worker serves each. */
  synchronized void use(@Nullable Stages next) {
    boolean begins = present == null && next != null;
    present = next;
    if (begins) {
      // Without stages their labels were not read.
      fleet.exclusively(snapshot -> snapshot.workers().forEach(this::learn));
    }
    BuiltInProxy ofProxy = builtIn;
    if (ofProxy != null) {
      ofProxy.use(next);
    }
    OtherProxies ofOthers = others;
    if (ofOthers != null) {
      ofOthers.use(next);
    }
  }

  /** True if prefill workers report their engine ids by bootstrap servers. */
  boolean asksBootstrapServers() {
    Stages now = present;
    return now != null && now.settings.protocol().equals("mooncake");
  }

  /** Transfer data of workers; written by all sources of such data. */
  PeerTable peers() {
    return peers;
  }

  /** Requests that wait for notifications; the receiver of notifications reports them here. */
  NotificationTable notifications() {
    return notifications;
  }

  /**
   * The policies of all roles: {@code regular} for whole requests, and those of the stages.
   *
   * @param forPrefill creates a prefill policy by name
   * @param forDecode creates a decode policy by name
   */
  static StagePolicies policies(
      Stages by,
      PolicySetup regular,
      Function<String, PolicySetup> forPrefill,
      Function<String, PolicySetup> forDecode) {
    return new StagePolicies(
        regular,
        forPrefill.apply(by.settings.prefillPolicy()),
        forDecode.apply(by.settings.decodePolicy()).with(by.caches));
  }

  /**
   * A policy for decode workers, which have one policy more than other roles.
   *
   * @param others creates all other policies
   */
  static PolicySetup decodePolicy(
      Stages by,
      String name,
      PolicyParts parts,
      BiFunction<String, PolicyParts, PolicySetup> others) {
    if (!name.equals(JointPolicy.NAME)) {
      return others.apply(name, parts);
    }
    if (!by.protocol.sendsMissing()) {
      return others.apply("least_load", parts);
    }
    int gap = by.settings.split().maxLoadGap();
    // The table learns cached prefixes under every policy.
    PolicySetup joint = new PolicySetup(new JointPolicy(by.caches, gap, parts.random()), List.of());
    return Policies.withAffinity(joint, parts);
  }

  /**
   * Executes split requests in the built-in proxy.
   *
   * @param affinity headers for conversations and their owners
   * @param namesWorkers true if responses name the serving worker
   * @param labels labels of the workers of a role, for messages
   * @param measure receives the number of requests that wait, before the first stages
   * @return the context in force; it changes with the settings. Null: one worker serves each
   */
  synchronized Supplier<@Nullable PdContext> builtIn(
      RoutingEngine engine,
      SplitListener listener,
      AffinitySettings affinity,
      BooleanSupplier namesWorkers,
      RandomSource random,
      Function<Role, String> labels,
      Consumer<IntSupplier> measure) {
    BuiltInProxy opened =
        new BuiltInProxy(
            engine, listener, new Conversations(affinity), namesWorkers, random, labels, measure);
    opened.use(present);
    builtIn = opened;
    return () -> opened.context;
  }

  /** The context of the built-in proxy, and the parts that stay when the settings change. */
  private final class BuiltInProxy {
    private final RoutingEngine engine;
    private final SplitListener listener;
    private final Conversations conversations;
    private final BooleanSupplier namesWorkers;
    private final RandomSource random;
    private final Function<Role, String> labels;
    private final Consumer<IntSupplier> measure;

    /** Null before the first stages. Guarded by the outer object. */
    private @Nullable SlotQueues queues;

    private volatile @Nullable PdContext context;

    BuiltInProxy(
        RoutingEngine engine,
        SplitListener listener,
        Conversations conversations,
        BooleanSupplier namesWorkers,
        RandomSource random,
        Function<Role, String> labels,
        Consumer<IntSupplier> measure) {
      this.engine = engine;
      this.measure = measure;
      this.listener = listener;
      this.conversations = conversations;
      this.namesWorkers = namesWorkers;
      this.random = random;
      this.labels = labels;
    }

    void use(@Nullable Stages next) {
      PdContext before = context;
      context = next == null ? null : made(next, queues(next.settings.stages().maxWaiting()));
      if (before != null) {
        before.router().replaced();
      }
    }

    private SlotQueues queues(int most) {
      SlotQueues present = queues;
      if (present == null) {
        present = new SlotQueues(most);
        queues = present;
        measure.accept(present::waiting);
      } else {
        present.limit(most);
      }
      return present;
    }

    private PdContext made(Stages by, SlotQueues queues) {
      return new PdContext(
          engine,
          router(engine, by),
          by.settings.split(),
          by.protocol,
          by.settings.stages(),
          notifications,
          listener,
          queues,
          conversations,
          namesWorkers,
          random,
          labels);
    }
  }

  private SplitRouter router(RoutingEngine engine, Stages by) {
    return new SplitRouter(engine, by.caches, by.settings.split(), ticker);
  }

  /** Uses other headers for conversations that begin later. */
  synchronized void use(AffinitySettings affinity) {
    BuiltInProxy ofProxy = builtIn;
    if (ofProxy != null) {
      ofProxy.conversations.use(affinity);
    }
  }

  /**
   * Chooses two workers, for external proxies, by the settings in force at this moment; null if one
   * worker serves each request.
   */
  @Nullable SplitChoices choices(RoutingEngine engine, Choices choices, RandomSource random) {
    Stages now = present;
    return now == null ? null : choices(engine, choices, random, now);
  }

  private SplitChoices choices(
      RoutingEngine engine, Choices choices, RandomSource random, Stages by) {
    return new SplitChoices(choices, router(engine, by), by.protocol.protocol(), random);
  }

  /**
   * The choices of {@link #choices}, for responses to other processes; they follow the settings.
   * Null while one worker serves each request.
   */
  synchronized Supplier<@Nullable SplitPlacements> placements(
      RoutingEngine engine, Choices choices, RandomSource random) {
    OtherProxies opened = new OtherProxies(engine, choices, random);
    opened.use(present);
    others = opened;
    return () -> opened.made;
  }

  /** The choices for other processes, and the parts that stay when the settings change. */
  private final class OtherProxies {
    private final RoutingEngine engine;
    private final Choices choices;
    private final RandomSource random;
    private volatile @Nullable SplitPlacements made;

    OtherProxies(RoutingEngine engine, Choices choices, RandomSource random) {
      this.engine = engine;
      this.choices = choices;
      this.random = random;
    }

    void use(@Nullable Stages next) {
      SplitPlacements present = made;
      if (next == null) {
        made = null;
        return;
      }
      SplitChoices of = choices(engine, choices, random, next);
      DisaggSettings settings = next.settings;
      if (present == null) {
        made =
            new SplitPlacements(
                of, settings.protocol(), settings.split().lists(), engine.fleet(), random);
      } else {
        present.use(of, settings.protocol(), settings.split().lists());
      }
    }
  }

  /** Called under the fleet's lock, one call at a time. */
  private void follow(FleetSnapshot snapshot) {
    Stages stages = present;
    Set<Worker> now = new HashSet<>(snapshot.workers());
    for (Worker worker : known) {
      if (!now.contains(worker)) {
        if (stages != null) {
          stages.protocol.listeners().forEach(listener -> listener.forget(worker));
        }
        if (snapshot.worker(worker.id()) == null) {
          peers.remove(worker.id());
        }
      }
    }
    for (Worker worker : now) {
      if (stages != null && !known.contains(worker)) {
        learn(worker);
      }
    }
    known = now;
  }

  private void learn(Worker worker) {
    if (worker.spec().labels().keySet().stream().noneMatch(PeerLabels.ALL::contains)) {
      return;
    }
    try {
      boolean kept =
          peers.update(worker.id(), peer -> PeerLabels.addTo(peer, worker.spec().labels()));
      if (!kept) {
        LOG.warn("{}: its labels are ignored, because there are too many workers", worker);
      }
    } catch (IllegalArgumentException e) {
      LOG.warn(
          "{}: its labels are invalid: {}", worker, LogText.of(String.valueOf(e.getMessage())));
    }
  }
}
