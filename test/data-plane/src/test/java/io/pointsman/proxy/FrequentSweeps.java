package io.pointsman.proxy;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Handlers with a short timeout among their traits. A loop checks timeouts ten times within the
 * shortest one, at least once a second. With these, it does so every 20 ms, and a test that
 * advances its clock does not wait for a second.
 */
record FrequentSweeps(RequestHandlers handlers) implements RequestHandlers {
  private static final Duration SHORTEST = Duration.ofMillis(200);

  static RequestHandlerFactory of(RequestHandlerFactory handlers) {
    return state -> new FrequentSweeps(handlers.create(state));
  }

  @Override
  public RequestHandlers inForce() {
    return new FrequentSweeps(handlers.inForce());
  }

  @Override
  public RequestHandler of(ClientExchange request) {
    return handlers.of(request);
  }

  @Override
  public void toOwner(ClientExchange request, Lease lease) {
    handlers.toOwner(request, lease);
  }

  @Override
  public Traits traits() {
    return new Traits(SHORTEST, handlers.traits().editsBodies());
  }

  @Override
  public List<Role> rolesOfKeepers(
      @Nullable String owner, boolean generates, @Nullable String model) {
    return handlers.rolesOfKeepers(owner, generates, model);
  }

  @Override
  public void close() {
    handlers.close();
  }
}
