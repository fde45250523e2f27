package io.pointsman.api.decide;

import io.pointsman.api.admin.Json;
import io.pointsman.engine.Decision;
import io.pointsman.engine.choice.Choice;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import org.jspecify.annotations.Nullable;

/** Error responses of the decision endpoints, in OpenAI's format. */
final class Refusal {
  private Refusal() {}

  /** A refusal that needs no further data. */
  static LocalResponse of(ProxyError error) {
    Reply reply = Reply.of(error, error.message());
    return new LocalResponse(reply.status(), reply.headers(), reply.body());
  }

  static LocalResponse malformed(String message) {
    return Json.error(ProxyError.INVALID_BODY, message);
  }

  /**
   * The response that clients of the built-in proxy get, too.
   *
   * @param busyStatus HTTP status while all workers are busy
   */
  static LocalResponse of(Decision.Rejected rejected, @Nullable String model, int busyStatus) {
    Reply reply = Rejections.reply(rejected, model, busyStatus);
    return new LocalResponse(reply.status(), reply.headers(), reply.body());
  }

  static LocalResponse tooManyLeases(int most, long retryAfterNanos) {
    return Json.error(
            ProxyError.TOO_MANY_LEASES,
            "leases: " + most + " are open (expected: fewer, decide.max-leases)")
        .withHeader("retry-after", Long.toString(Reply.seconds(retryAfterNanos)));
  }

  static LocalResponse of(Choice.IdTaken taken) {
    return taken.settled()
        ? Json.error(ProxyError.LEASE_SETTLED, "lease " + taken.lease() + ": already settled")
        : Json.error(
            ProxyError.LEASE_EXISTS,
            "lease " + taken.lease() + ": already used (expected: a new id for each request)");
  }
}
