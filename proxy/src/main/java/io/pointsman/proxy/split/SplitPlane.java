package io.pointsman.proxy.split;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.disagg.SplitRouter;
import io.pointsman.engine.disagg.SplitSettings;
import io.pointsman.engine.disagg.plan.Conversation;
import io.pointsman.engine.disagg.plan.SplitFacts;
import io.pointsman.engine.disagg.protocol.PdSetup;
import io.pointsman.engine.env.Dice;
import io.pointsman.proxy.course.Served;
import io.pointsman.proxy.split.waiting.Notifications;
import io.pointsman.proxy.split.waiting.WaitingRoom;
import io.pointsman.proxy.telemetry.GuardedListener;
import io.pointsman.proxy.telemetry.SplitListener;
import org.jspecify.annotations.Nullable;

/**
 * What all requests that two workers may serve have in common, on whatever event loop. Its parts
 * are immutable or safe for use by several threads.
 *
 * @param listener may throw all the same: that is logged and has no other effect
 * @param conversations which requests are turns of one
 * @param told whether answers say who served them and why, in headers
 * @param dice for names of hand-overs
 */
public record SplitPlane(
    RoutingEngine engine,
    SplitRouter router,
    SplitSettings settings,
    PdSetup protocol,
    StageSettings stages,
    Notifications notifications,
    SplitListener listener,
    WaitingRoom room,
    Conversations conversations,
    boolean told,
    Dice dice) {
  public SplitPlane {
    requireNonNull(engine, "engine");
    requireNonNull(router, "router");
    requireNonNull(settings, "settings");
    requireNonNull(protocol, "protocol");
    requireNonNull(stages, "stages");
    requireNonNull(notifications, "notifications");
    listener = new GuardedListener(requireNonNull(listener, "listener"));
    requireNonNull(room, "room");
    requireNonNull(conversations, "conversations");
    requireNonNull(dice, "dice");
  }

  /** The conversation that a request is a turn of; null if it is of none, or nobody asks. */
  @Nullable Conversation conversation(Served request, SplitFacts facts) {
    return protocol.listeners().isEmpty() ? null : conversations.of(request, facts);
  }
}
