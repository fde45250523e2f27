package io.pointsman.pd.execution;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.execution.answer.SplitTools;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.RequestFacts;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Factory of the request handlers of one event loop, for a fleet of prefill and decode workers.
 * Belongs to the event loop.
 */
public final class PdHandlers implements RequestHandlers {
  private final LoopState state;
  private final Supplier<PdContext> contexts;

  /** The context of the requests that begin at present. */
  private PdContext context;

  private SplitTools tools;
  private SingleWorkerRequests wholes;

  /** For a context that stays the same. */
  public PdHandlers(LoopState state, PdContext context) {
    this(state, () -> context);
  }

  /**
   * @param contexts the context in force; may change, for requests that begin later
   */
  public PdHandlers(LoopState state, Supplier<PdContext> contexts) {
    this.state = state;
    this.contexts = contexts;
    context = contexts.get();
    tools = new SplitTools(context.stages().maxReplyBytes(), context.settings().lists());
    wholes = new SingleWorkerRequests(state, context, tools);
  }

  /** Uses the context in force. Requests in progress keep theirs. */
  @SuppressWarnings("ReferenceEquality") // contexts are replaced as a whole
  private void renew() {
    PdContext next = contexts.get();
    if (next == context) {
      return;
    }
    int replies = next.stages().maxReplyBytes();
    boolean alike =
        replies == context.stages().maxReplyBytes()
            && next.settings().lists().equals(context.settings().lists());
    tools = alike ? tools : tools.with(replies, next.settings().lists());
    context = next;
    wholes = new SingleWorkerRequests(state, next, tools);
  }

  @Override
  public RequestHandlers inForce() {
    return this;
  }

  @Override
  public RequestHandler of(ClientExchange request) {
    renew();
    RequestFacts read = request.request().facts();
    KeptBody body = mayBeSplit(read) ? request.request().body() : null;
    return new PdHandler(state, context, tools, request, facts(read, body), body);
  }

  /** True if the body must be read to decide about a split. */
  static boolean mayBeSplit(RequestFacts read) {
    return SplitFactsReader.splits(read.endpoint())
        && read.body().kind() == BodyVerdict.Kind.OBJECT;
  }

  private SplitFacts facts(RequestFacts read, @Nullable KeptBody body) {
    if (SplitFactsReader.promptless(read)) {
      return SplitFacts.ofNoPrompt();
    }
    if (body == null) {
      return tools.facts().read(read.endpoint(), new byte[0], 0, 0, false);
    }
    byte[] bytes = state.scratch(body);
    return tools.facts().read(read.endpoint(), bytes, 0, body.length(), estimates(read));
  }

  /**
   * True if the estimate is needed. The token count of the routing key is an upper bound of it,
   * unless lists are sized by their length.
   */
  private boolean estimates(RequestFacts read) {
    SplitSettings settings = context.settings();
    int least = Math.max(settings.threshold(), settings.uncachedThreshold());
    return least > 0
        && (settings.lists().sizedByLength() || read.prefix().tokens() >= settings.threshold());
  }

  @Override
  public void close() {
    tools.bodies().close();
  }

  @Override
  public Traits traits() {
    return new Traits(contexts.get().stages().decode(), true);
  }

  @Override
  public void toOwner(ClientExchange request, Lease lease) {
    renew();
    wholes.sendToOwner(request, lease);
  }

  /**
   * Decode workers have the responses of split requests, even if they serve no complete requests.
   * Prefill workers are requested to store none.
   */
  @Override
  public List<Role> rolesOfKeepers(
      @Nullable String owner, boolean generates, @Nullable String model) {
    renew();
    Worker keeps = owner == null ? null : context.engine().fleet().snapshot().worker(owner);
    if (keeps != null) {
      return List.of(keeps.spec().role());
    }
    List<Role> roles =
        Stream.of(Role.REGULAR, Role.DECODE, Role.PREFILL)
            .filter(role -> wholes.serves(role) || (!generates && role == Role.DECODE))
            .filter(role -> context.engine().serves(role, model))
            .toList();
    // A worker of that role refuses requests that it must not serve.
    return roles.isEmpty() ? List.of(Role.DECODE) : roles;
  }
}
