package io.pointsman.pd.execution;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.strategy.PlainHandlers;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Factory of the handlers of requests while prefill and decode on separate workers may begin and
 * end. Requests in progress keep their handlers. Belongs to the event loop.
 */
public final class ChangingHandlers implements RequestHandlers {
  private final LoopState state;
  private final Supplier<@Nullable PdContext> contexts;
  private final PlainHandlers plain;

  /** Null before the first context. */
  private @Nullable PdHandlers split;

  /** The newest context; requests may still use it after the end. */
  private @Nullable PdContext last;

  /**
   * @param contexts the context in force; null while one worker serves each request
   */
  public ChangingHandlers(LoopState state, Supplier<@Nullable PdContext> contexts) {
    this.state = state;
    this.contexts = contexts;
    plain = new PlainHandlers(state);
  }

  @Override
  public RequestHandlers inForce() {
    PdContext now = contexts.get();
    if (now == null) {
      return plain;
    }
    last = now;
    PdHandlers present = split;
    if (present == null) {
      present = new PdHandlers(state, this::newest);
      split = present;
    }
    return present;
  }

  private PdContext newest() {
    PdContext now = contexts.get();
    if (now != null) {
      last = now;
    }
    return requireNonNull(last, "context");
  }

  @Override
  public RequestHandler of(ClientExchange request) {
    return inForce().of(request);
  }

  @Override
  public void toOwner(ClientExchange request, Lease lease) {
    inForce().toOwner(request, lease);
  }

  @Override
  public Traits traits() {
    return inForce().traits();
  }

  @Override
  public List<Role> rolesOfKeepers(
      @Nullable String owner, boolean generates, @Nullable String model) {
    return inForce().rolesOfKeepers(owner, generates, model);
  }

  @Override
  public void close() {
    if (split != null) {
      split.close();
    }
  }
}
