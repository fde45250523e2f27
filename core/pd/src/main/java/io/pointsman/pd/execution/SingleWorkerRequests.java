package io.pointsman.pd.execution;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.execution.answer.SplitTools;
import io.pointsman.pd.plan.Unsplittable;
import io.pointsman.pd.protocol.ForeignFields;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.splice.Splice;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sender of complete requests to one worker. It removes the client's fields for KV transfers, for
 * regular workers only if the settings say so. Belongs to the event loop.
 */
final class SingleWorkerRequests {
  private static final String TOO_LARGE =
      "request body: larger than limits.max-buffered-body (expected: smaller, because the fleet has"
          + " only prefill and decode workers)";

  private static final String ENCODED =
      "content-encoding: not supported (expected: none, because the fleet has only prefill and"
          + " decode workers)";

  private static final String ROLES =
      " (expected: a JSON object in UTF-8, because the fleet has only prefill and decode workers)";

  private final LoopState state;
  private final PdContext context;
  private final SplitTools tools;

  SingleWorkerRequests(LoopState state, PdContext context, SplitTools tools) {
    this.state = state;
    this.context = context;
    this.tools = tools;
  }

  /**
   * Starts an attempt, or refuses a request with an unreadable body.
   *
   * @param lease lease of the worker; ownership passes to this method
   * @param lines header lines for the client's answer
   * @param onReached called when the client gets the first bytes of the answer
   */
  void send(ClientExchange served, Lease lease, String lines, Runnable onReached) {
    if (lease.worker().spec().role() == Role.REGULAR) {
      sendToRegular(served, lease, lines, onReached);
      return;
    }
    if (hidden(served.request().facts())) {
      lease.ignored();
      refuse(served);
      return;
    }
    EditedBody body = null;
    if (served.request().facts().body().kind() == BodyVerdict.Kind.OBJECT
        && !SplitFactsReader.promptless(served.request().facts())) {
      KeptBody original = served.request().body();
      Splice cleaned = original == null ? null : cleaned(original);
      if (original == null || cleaned == null) {
        lease.ignored();
        refuse(served);
        return;
      }
      if (cleaned.length() < original.length()) {
        body = new EditedBody(original, cleaned);
      }
    }
    Header id = new Header(Header.REQUEST_ID, PdRequests.id(served, context));
    HeadChanges head = new HeadChanges(List.of(id), false);
    served.attempt(lease, new SingleWorkerRequest(body, head, lines, onReached));
  }

  private void sendToRegular(ClientExchange served, Lease lease, String lines, Runnable onReached) {
    EditedBody body = null;
    KeptBody original = served.request().body();
    boolean drops = !state.server().live().headers().handovers();
    if (drops && original != null && served.request().facts().body().handover()) {
      Splice cleaned = cleaned(original);
      if (cleaned == null) {
        lease.ignored();
        refuse(served);
        return;
      }
      if (cleaned.length() < original.length()) {
        body = new EditedBody(original, cleaned);
      }
    }
    served.attempt(lease, new SingleWorkerRequest(body, HeadChanges.NONE, lines, onReached));
  }

  private @Nullable Splice cleaned(KeptBody original) {
    byte[] bytes = state.scratch(original);
    return tools.editor().edit(bytes, 0, original.length(), ForeignFields.removed());
  }

  /**
   * True if a body may contain fields for KV transfers that engines read and the router cannot.
   * Engines ignore {@code content-encoding} and may read JSON with any {@code content-type}. They
   * also read encodings of JSON (UTF-16) that the router does not.
   */
  static boolean hidden(RequestFacts facts) {
    if (SplitFactsReader.promptless(facts)) {
      return false;
    }
    return switch (facts.body().kind()) {
      case OBJECT, EMPTY -> false;
      case FORM -> !facts.endpoint().formBody();
      case TRUNCATED, OPAQUE, MALFORMED, NOT_OBJECT -> true;
    };
  }

  /** Refuses a request with an unreadable body, because no regular worker can serve it. */
  static void refuse(ClientExchange served) {
    BodyVerdict verdict = served.request().facts().body();
    switch (verdict.kind()) {
      case TRUNCATED -> refuse(served, ProxyError.BODY_TOO_LARGE, TOO_LARGE);
      case OPAQUE -> refuse(served, ProxyError.ENCODED_BODY, ENCODED);
      case MALFORMED, NOT_OBJECT ->
          refuse(
              served,
              ProxyError.INVALID_BODY,
              "request body: " + verdict.reason() + " at byte " + verdict.position() + ROLES);
      case FORM -> refuse(served, ProxyError.INVALID_BODY, "request body: form data" + ROLES);
      case OBJECT, EMPTY ->
          refuse(
              served,
              ProxyError.INVALID_BODY,
              "request body: too many members (expected: at most 4096)");
    }
  }

  private static void refuse(ClientExchange served, ProxyError error, String what) {
    served.end(new Ending.RouterError(error, Reply.of(error, what)));
  }

  /**
   * Sends a request that only one worker can serve, because it has the stored response.
   *
   * @param lease lease of that worker; ownership passes to this method
   */
  void sendToOwner(ClientExchange served, Lease lease) {
    if (SplitFactsReader.promptless(served.request().facts())
        || serves(lease.worker().spec().role())) {
      send(served, lease, "", () -> {});
    } else {
      lease.ignored();
      served.end(
          new Ending.RouterError(ProxyError.UNSPLITTABLE, unsplittable(Unsplittable.STORED)));
    }
  }

  /** True if workers of a role may generate complete answers. */
  boolean serves(Role role) {
    SplitSettings settings = context.settings();
    return switch (role) {
      case REGULAR -> true;
      case DECODE -> settings.decodeServesWhole();
      case PREFILL -> settings.prefillServesWhole();
    };
  }

  /** Answer to a request that two workers cannot share, if no other worker can serve it. */
  static Reply unsplittable(Unsplittable why) {
    ProxyError error = ProxyError.UNSPLITTABLE;
    return Reply.of(error, error.message() + ": " + why.feature());
  }
}
