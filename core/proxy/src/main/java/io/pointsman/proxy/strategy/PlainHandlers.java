package io.pointsman.proxy.strategy;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.handler.UnchangedRequest;
import io.pointsman.proxy.loop.LoopState;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Factory of the handlers for a fleet of regular workers: each request goes to one worker, as it
 * came. Belongs to the event loop.
 */
public final class PlainHandlers implements RequestHandlers {
  private static final Traits TRAITS = new Traits(Duration.ZERO, false);

  private final LoopState state;

  public PlainHandlers(LoopState state) {
    this.state = state;
  }

  @Override
  public RequestHandlers inForce() {
    return this;
  }

  @Override
  public RequestHandler of(ClientExchange request) {
    return new PlainHandler(state, request);
  }

  @Override
  public void toOwner(ClientExchange request, Lease lease) {
    request.attempt(lease, UnchangedRequest.INSTANCE);
  }

  @Override
  public Traits traits() {
    return TRAITS;
  }

  @Override
  public List<Role> rolesOfKeepers(
      @Nullable String owner, boolean generates, @Nullable String model) {
    return List.of(Role.REGULAR);
  }

  @Override
  public void close() {}
}
