package io.pointsman.pd.execution;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.execution.waiting.Notifications;
import io.pointsman.pd.execution.waiting.SlotQueues;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.protocol.PdSetup;
import io.pointsman.pd.rule.SplitRouter;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.pd.telemetry.GuardedListener;
import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.proxy.handler.ClientExchange;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * State that all requests to prefill and decode workers share, across event loops. Its parts are
 * immutable or thread-safe.
 *
 * @param listener its exceptions are logged and have no other effect
 * @param conversations detection of the turns of a conversation
 * @param namesWorkers true if answers name the workers and the rule in headers; may change
 * @param random random numbers for the ids of handovers
 * @param labels labels of the workers of a role, for messages; empty without labels; may change
 */
public record PdContext(
    RoutingEngine engine,
    SplitRouter router,
    SplitSettings settings,
    PdSetup protocol,
    StageSettings stages,
    Notifications notifications,
    SplitListener listener,
    SlotQueues queues,
    Conversations conversations,
    BooleanSupplier namesWorkers,
    RandomSource random,
    Function<Role, String> labels) {
  public PdContext {
    requireNonNull(engine, "engine");
    requireNonNull(router, "router");
    requireNonNull(settings, "settings");
    requireNonNull(protocol, "protocol");
    requireNonNull(stages, "stages");
    requireNonNull(notifications, "notifications");
    listener = new GuardedListener(requireNonNull(listener, "listener"));
    requireNonNull(queues, "queues");
    requireNonNull(conversations, "conversations");
    requireNonNull(random, "random");
    requireNonNull(labels, "labels");
  }

  /**
   * The conversation of a request; null if it has none, or if the protocol does not use
   * conversations.
   */
  @Nullable Conversation conversation(ClientExchange request, SplitFacts facts) {
    return protocol.listeners().isEmpty() ? null : conversations.of(request, facts);
  }
}
