package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.holdback.HoldBackSettings;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.UpstreamSettings;
import java.time.Duration;

/**
 * Everything that can be set about the data plane.
 *
 * @param sseKeepalive silence of a worker, within a stream of events, after which the client gets a
 *     comment line to keep its connection; 0 sends none
 * @param drainTimeout how long requests may take to end after the router was told to stop; what is
 *     left then is cut off
 * @param drainDelay how long after that it still takes connections, as a part of {@code
 *     drainTimeout}, or past it if it is longer: until all who send to it have learned that it
 *     stops
 */
public record ProxySettings(
    ListenSettings listen,
    LimitSettings limits,
    TimeoutSettings timeouts,
    AdmissionSettings admission,
    HoldBackSettings holdBack,
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
          HoldBackSettings.DEFAULTS,
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

  /** The same with another {@code listen}. */
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

  /** The same with another {@code limits}. */
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

  /** The same with another {@code timeouts}. */
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

  /** The same with another {@code admission}. */
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

  /** The same with another {@code holdBack}. */
  public ProxySettings withHoldBack(HoldBackSettings holdBack) {
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

  /** The same with another {@code retry}. */
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

  /** The same with another {@code upstream}. */
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

  /** The same with another {@code cors}. */
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

  /** The same with another {@code sseKeepalive}. */
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

  /** The same with another {@code drainTimeout}. */
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

  /** The same with another {@code drainDelay}. */
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
