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
public record ProxySettings(
    ListenSettings listen,
    LimitSettings limits,
    TimeoutSettings timeouts,
    AdmissionSettings admission,
    DeferralSettings holdBack,
    RetrySettings retry,
    UpstreamSettings upstream,
    HeaderSettings headers,
    CorsSettings cors,
    Duration sseKeepalive,
    Duration drainTimeout,
    Duration drainDelay) {

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
    requireNonNull(holdBack, "holdBack");
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
   * loops, the limits on connections, the connections to workers and the memory of failed requests
   * stay.
   */
  public ProxySettings withLive(ProxySettings next) {
    return new ProxySettings(
        listen,
        next.limits.withClients(
            next.limits.clients().withMaxConnections(limits.clients().maxConnections())),
        next.timeouts,
        next.admission,
        next.holdBack,
        next.retry.poison().equals(retry.poison()) ? next.retry : retry,
        upstream,
        next.headers,
        next.cors,
        next.sseKeepalive,
        next.drainTimeout,
        next.drainDelay);
  }

  /** Copy with another {@code listen}. */
  public ProxySettings withListen(ListenSettings listen) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code limits}. */
  public ProxySettings withLimits(LimitSettings limits) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code timeouts}. */
  public ProxySettings withTimeouts(TimeoutSettings timeouts) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code admission}. */
  public ProxySettings withAdmission(AdmissionSettings admission) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code holdBack}. */
  public ProxySettings withHoldBack(DeferralSettings holdBack) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code retry}. */
  public ProxySettings withRetry(RetrySettings retry) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code upstream}. */
  public ProxySettings withUpstream(UpstreamSettings upstream) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code headers}. */
  public ProxySettings withHeaders(HeaderSettings headers) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code cors}. */
  public ProxySettings withCors(CorsSettings cors) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code sseKeepalive}. */
  public ProxySettings withSseKeepalive(Duration sseKeepalive) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code drainTimeout}. */
  public ProxySettings withDrainTimeout(Duration drainTimeout) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }

  /** Copy with another {@code drainDelay}. */
  public ProxySettings withDrainDelay(Duration drainDelay) {
    return new ProxySettings(
        listen,
        limits,
        timeouts,
        admission,
        holdBack,
        retry,
        upstream,
        headers,
        cors,
        sseKeepalive,
        drainTimeout,
        drainDelay);
  }
}
