package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * All settings of the data plane.
 *
 * @param sseKeepalive interval without bytes from the worker in an event stream. After it the
 *     client gets a comment line that keeps its connection open; 0 sends none
 * @param drainTimeout maximum time for requests to end after the stop of the router; the rest is
 *     cut
 * @param drainDelay time after the stop during which the router still accepts connections, until
 *     all clients know of the stop. It is part of {@code drainTimeout}, or extends it if it is
 *     longer
 */
@RecordBuilder
public record ProxySettings(
    ListenSettings listen,
    LimitSettings limits,
    TimeoutSettings timeouts,
    AdmissionSettings admission,
    DeferralSettings deferral,
    RetrySettings retry,
    UpstreamSettings upstream,
    HeaderSettings headers,
    CorsSettings cors,
    Duration sseKeepalive,
    Duration drainTimeout,
    Duration drainDelay)
    implements ProxySettingsBuilder.With {

  public static final ProxySettings DEFAULTS =
      new ProxySettings(
          ListenSettings.DEFAULTS,
          LimitSettings.DEFAULTS,
          TimeoutSettings.DEFAULTS,
          AdmissionSettings.DEFAULTS,
          DeferralSettings.DEFAULTS,
          RetrySettings.DEFAULTS,
          UpstreamSettings.DEFAULTS,
          HeaderSettings.DEFAULTS,
          CorsSettings.DEFAULTS,
          Duration.ZERO,
          Duration.ofSeconds(25),
          Duration.ZERO);

  public ProxySettings {
    requireNonNull(listen, "listen");
    requireNonNull(limits, "limits");
    requireNonNull(timeouts, "timeouts");
    requireNonNull(admission, "admission");
    requireNonNull(deferral, "deferral");
    requireNonNull(retry, "retry");
    requireNonNull(upstream, "upstream");
    requireNonNull(headers, "headers");
    requireNonNull(cors, "cors");
    if (sseKeepalive.isNegative()) {
      throw new IllegalArgumentException("sseKeepalive: " + sseKeepalive + " (expected: >= 0)");
    }
    if (drainTimeout.isNegative()) {
      throw new IllegalArgumentException("drainTimeout: " + drainTimeout + " (expected: >= 0)");
    }
    if (drainDelay.isNegative()) {
      throw new IllegalArgumentException("drainDelay: " + drainDelay + " (expected: >= 0)");
    }
  }

  /**
   * Copy with the parts of {@code next} that a running server can take over. The port, the event
   * loops and the options of sockets stay.
   */
  public ProxySettings withLive(ProxySettings next) {
    return next.with()
        .listen(listen.withLive(next.listen))
        .upstream(upstream.withLive(next.upstream))
        .build();
  }
}
