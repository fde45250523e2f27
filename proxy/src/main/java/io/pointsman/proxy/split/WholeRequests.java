package io.pointsman.proxy.split;

import io.pointsman.engine.disagg.SplitSettings;
import io.pointsman.engine.disagg.plan.Header;
import io.pointsman.engine.disagg.plan.Unsplittable;
import io.pointsman.engine.disagg.protocol.ForeignFields;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.course.Served;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.splice.Splice;
import io.pointsman.request.splice.SplitFactsReader;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sends whole requests to one worker: to regular ones as they came, to prefill and decode workers
 * without what a client may say of hand-overs. Belongs to the event loop.
 */
final class WholeRequests {
  private static final String TOO_LARGE =
      "request body: larger than limits.max-buffered-body, so that it cannot be looked at as a"
          + " whole (expected: less, as the fleet has prefill and decode workers only)";

  private final SplitPlane plane;
  private final SplitTools tools;

  WholeRequests(SplitPlane plane, SplitTools tools) {
    this.plane = plane;
    this.tools = tools;
  }

  /**
   * Begins an attempt, or refuses what cannot be looked at.
   *
   * @param lease of the worker; taken over
   * @param kept a copy of the client's body; null if it is still there
   * @param lines header lines for the client's answer
   * @param onReached called when the client gets the first bytes of the answer
   */
  void send(Served served, Lease lease, byte @Nullable [] kept, String lines, Runnable onReached) {
    if (lease.worker().spec().role() == Role.REGULAR) {
      served.attempt(lease, new WholeErrand(kept, HeadChanges.NONE, lines, onReached));
      return;
    }
    byte[] body = kept;
    if (mayName(served)) {
      byte[] original = kept == null ? served.body() : kept;
      Splice cleaned =
          original == null
              ? null
              : tools.editor().edit(original, 0, original.length, ForeignFields.removed());
      if (original == null || cleaned == null) {
        lease.ignored();
        refuse(served);
        return;
      }
      if (cleaned.length() < original.length) {
        body = cleaned.toBytes(original, 0);
      }
    }
    Header id = new Header(Header.REQUEST_ID, PdRequests.id(served, plane));
    HeadChanges head = new HeadChanges(List.of(id), false, false);
    served.attempt(lease, new WholeErrand(body, head, lines, onReached));
  }

  /** Whether a body may have something of hand-overs in it that engines will find. */
  private static boolean mayName(Served served) {
    BodyVerdict.Kind kind = served.facts().body().kind();
    boolean json = kind == BodyVerdict.Kind.OBJECT || kind == BodyVerdict.Kind.TRUNCATED;
    return json && !SplitFactsReader.promptless(served.facts());
  }

  private static void refuse(Served served) {
    if (served.facts().body().kind() == BodyVerdict.Kind.TRUNCATED) {
      served.reply(ProxyError.BODY_TOO_LARGE, Reply.of(ProxyError.BODY_TOO_LARGE, TOO_LARGE));
    } else {
      String what = "request body: too many members (expected: at most 4096)";
      served.reply(ProxyError.INVALID_BODY, Reply.of(ProxyError.INVALID_BODY, what));
    }
  }

  /**
   * Sends a request that only one worker can serve, because it keeps what the request is about.
   *
   * @param lease of that worker; taken over
   */
  void sendToOwner(Served served, Lease lease) {
    if (SplitFactsReader.promptless(served.facts()) || serves(lease.worker().spec().role())) {
      send(served, lease, null, "", () -> {});
    } else {
      lease.ignored();
      served.reply(ProxyError.UNSPLITTABLE, unsplittable(Unsplittable.STORED));
    }
  }

  /** Whether workers of a role may generate the whole of an answer. */
  boolean serves(Role role) {
    SplitSettings settings = plane.settings();
    return switch (role) {
      case REGULAR -> true;
      case DECODE -> settings.decodeServesWhole();
      case PREFILL -> settings.prefillServesWhole();
    };
  }

  /** For a request that two workers cannot share, where there is no other worker. */
  static Reply unsplittable(Unsplittable why) {
    ProxyError error = ProxyError.UNSPLITTABLE;
    return Reply.of(error, error.message() + ": " + why.told());
  }
}
