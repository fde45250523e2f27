package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.proxy.handler.Waits;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.settings.TimeoutSettings;
import org.jspecify.annotations.Nullable;

/** Timeouts of an exchange, and the side to blame when one expires. */
final class ExchangeTimeouts {
  private ExchangeTimeouts() {}

  /** Ends the exchange, or its attempt, if a timeout has expired. */
  static void check(Exchange exchange, ServerContext server, long now) {
    TimeoutSettings timeouts = server.live().timeouts();
    Attempt attempt = exchange.attempt();
    Upload upload = exchange.upload();
    long total = totalNanos(exchange, timeouts);
    boolean waits = exchange.waitsForClient();
    if (upload.tooSlow(now, waits, server.live().limits().clients())
        || (waits
            && TimeoutSettings.passed(
                now - upload.lastReadAt(), timeouts.clientBody().toNanos()))) {
      exchange.endEarly(ProxyError.REQUEST_TIMEOUT, null);
    } else if (TimeoutSettings.passed(now - exchange.startedAt(), total)) {
      totalTimeout(exchange, attempt, now, total / 2);
    } else if (attempt != null) {
      attempt.checkTimeouts(now, timeouts, server.live().sseKeepalive().toNanos());
    }
  }

  /**
   * Ends the exchange after the total timeout. The side that the exchange waits for is to blame.
   */
  private static void totalTimeout(
      Exchange exchange, @Nullable Attempt attempt, long now, long half) {
    Attempt relaying = attempt == null || attempt.relay() == null ? null : attempt;
    Waits.Cause waits = exchange.waits();
    if (exchange.waitsForClient()) {
      exchange.endEarly(ProxyError.REQUEST_TIMEOUT, null);
    } else if (exchange.admitting()) {
      exchange.waitedTooLong();
    } else if (waits == Waits.Cause.SLOT) {
      exchange.waitedTooLong("the request waited too long for a worker below its limit");
    } else if (waits == Waits.Cause.WORKER) {
      exchange.endEarly(ProxyError.NONE_AVAILABLE, null);
    } else if (relaying != null && !exchange.client().writable()) {
      exchange.clientStalled();
    } else if (relaying != null && (exchange.upload().tunnels() || relaying.silent(now) < half)) {
      exchange.endEarly(ProxyError.TOTAL_REACHED, null);
    } else {
      exchange.endEarly(ProxyError.TOTAL_TIMEOUT, Failure.TIMEOUT);
    }
  }

  /**
   * While the request is arriving, the shorter of two limits applies, also during a stream. No
   * other limit bounds a client that sends slowly.
   */
  private static long totalNanos(Exchange exchange, TimeoutSettings timeouts) {
    long total = timeouts.total().toNanos();
    long stream = timeouts.streamTotal().toNanos();
    if (!exchange.streams()) {
      return total;
    }
    if (exchange.received() || total == 0) {
      return stream;
    }
    return stream == 0 ? total : Math.min(total, stream);
  }
}
