package io.pointsman.server.wiring;

import io.pointsman.api.decide.SplitPlaces;
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
import io.pointsman.pd.execution.waiting.WaitingRoom;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Builds prefill and decode on separate workers from the configuration. */
final class Disaggregation {
  private static final Logger LOG = LoggerFactory.getLogger(Disaggregation.class);

  private final DisaggSettings settings;
  private final PeerTable peers;
  private final NotificationTable notifications = new NotificationTable();
  private final PdSetup protocol;
  private final DecodeCaches held;
  private final Ticker ticker;

  /** Null while the built-in proxy has none. */
  private volatile @Nullable Conversations conversations;

  /** The workers of the last snapshot; written under the fleet's lock. */
  private Set<Worker> present = Set.of();

  Disaggregation(DisaggSettings settings, Fleet fleet, int maxWorkers, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    peers = new PeerTable(2 * maxWorkers);
    protocol = Protocols.create(settings.protocol(), peers, settings.protocols(), ticker);
    held = new DecodeCaches(settings.indexMaxBytes(), maxWorkers);
    fleet.listen(this::follow);
  }

  /** True if prefill workers report their engine ids by bootstrap servers. */
  boolean asksBootstrapServers() {
    return settings.protocol().equals("mooncake");
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
   * @param by names of the policies of the stages
   * @param forPrefill creates a prefill policy by name
   * @param forDecode creates a decode policy by name
   */
  StagePolicies policies(
      DisaggSettings by,
      PolicySetup regular,
      Function<String, PolicySetup> forPrefill,
      Function<String, PolicySetup> forDecode) {
    return new StagePolicies(
        regular,
        forPrefill.apply(by.prefillPolicy()),
        forDecode.apply(by.decodePolicy()).with(held));
  }

  /**
   * A policy for decode workers, which have one policy more than other roles.
   *
   * @param others creates all other policies
   */
  PolicySetup decodePolicy(
      String name, PolicyParts parts, BiFunction<String, PolicyParts, PolicySetup> others) {
    if (!name.equals(JointPolicy.NAME)) {
      return others.apply(name, parts);
    }
    if (!protocol.sendsMissing()) {
      return others.apply("least_load", parts);
    }
    int gap = settings.split().maxLoadGap();
    // The table learns cached prefixes under every policy.
    PolicySetup joint = new PolicySetup(new JointPolicy(held, gap, parts.dice()), List.of());
    return Policies.withAffinity(joint, parts);
  }

  /**
   * Executes split requests in the built-in proxy.
   *
   * @param affinity headers for conversations and their owners
   * @param namesWorkers true if responses name the serving worker
   * @param labels labels of the workers of a role, for messages
   */
  PdContext plane(
      RoutingEngine engine,
      SplitListener listener,
      AffinitySettings affinity,
      BooleanSupplier namesWorkers,
      RandomSource dice,
      Function<Role, String> labels) {
    Conversations detected = new Conversations(affinity);
    conversations = detected;
    return new PdContext(
        engine,
        new SplitRouter(engine, held, settings.split(), ticker),
        settings.split(),
        protocol,
        settings.stages(),
        notifications,
        listener,
        new WaitingRoom(settings.stages().maxWaiting()),
        detected,
        namesWorkers,
        dice,
        labels);
  }

  /** Uses other headers for conversations that begin later. */
  void use(AffinitySettings affinity) {
    Conversations detected = conversations;
    if (detected != null) {
      detected.use(affinity);
    }
  }

  /** Chooses two workers, for external proxies. */
  SplitChoices choices(RoutingEngine engine, Choices choices, RandomSource dice) {
    SplitRouter router = new SplitRouter(engine, held, settings.split(), ticker);
    return new SplitChoices(choices, router, protocol.protocol(), dice);
  }

  /** The choices of {@link #choices}, for responses to other processes. */
  SplitPlaces places(RoutingEngine engine, Choices choices, RandomSource dice) {
    SplitChoices split = choices(engine, choices, dice);
    return new SplitPlaces(
        split, settings.protocol(), settings.split().lists(), engine.fleet(), dice);
  }

  /** Called under the fleet's lock, one call at a time. */
  private void follow(FleetSnapshot snapshot) {
    Set<Worker> now = new HashSet<>(snapshot.workers());
    for (Worker worker : present) {
      if (!now.contains(worker)) {
        protocol.listeners().forEach(listener -> listener.forget(worker));
        if (snapshot.worker(worker.id()) == null) {
          peers.remove(worker.id());
        }
      }
    }
    for (Worker worker : now) {
      if (!present.contains(worker)) {
        learn(worker);
      }
    }
    present = now;
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
