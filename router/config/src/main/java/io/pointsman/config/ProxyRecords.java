package io.pointsman.config;

import static io.pointsman.config.RecordGroup.group;

import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.ClientLimitKeys;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.ListenerKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.ServerTlsKeys;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.value.ModelQueue;
import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.admission.ModelLimit;
import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.retry.PoisonSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.proxy.wire.Network;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Builds the settings of the built-in proxy. */
final class ProxyRecords {
  private static final long LEAST_BUFFERED_TOTAL = 1L << 20;

  private ProxyRecords() {}

  static ProxySettings from(ConfigValues values) {
    return new ProxySettings(
        new ListenSettings(
            values.get(FrontKeys.HOST),
            values.get(FrontKeys.PORT),
            values.get(OperationKeys.THREADS),
            values.get(OperationKeys.TRANSPORT),
            values.get(FrontKeys.BACKLOG),
            values.get(FrontKeys.MAX_CONNECTIONS),
            values.get(FrontKeys.HOST_NAMES),
            group("tls", () -> tls(values, ServerTlsKeys.CLIENTS)),
            values.get(ListenerKeys.TLS_PROVIDER),
            group("http2", () -> http2(values))),
        limits(values),
        timeouts(values),
        group("limits", () -> admission(values)),
        group(
            "limits",
            () ->
                new DeferralSettings(
                    values.get(QueueKeys.DEFER_BEYOND),
                    values.get(QueueKeys.DEFER_AT_MOST),
                    values.get(QueueKeys.QUEUE_SIZE),
                    values.get(QueueKeys.DEFER_WITHOUT_WORKER))),
        group("retry", () -> retry(values)),
        group("api-key or pool", () -> upstream(values)),
        new HeaderSettings(
            values.get(HeaderKeys.REQUEST_ID_HEADERS),
            values.get(HeaderKeys.WORKER_HEADER),
            values.get(DisaggKeys.STAGE_ERRORS),
            group("forwarded", () -> forwarded(values)),
            values.get(FrontKeys.FORWARD_HANDOVERS)),
        group(
            "cors",
            () ->
                new CorsSettings(
                    values.get(HeaderKeys.CORS_ENABLED), values.get(HeaderKeys.CORS_ORIGINS))),
        values.get(HeaderKeys.SSE_KEEPALIVE),
        values.get(OperationKeys.DRAIN_TIMEOUT),
        values.get(OperationKeys.DRAIN_DELAY));
  }

  /** TLS of one listener. */
  static ServerTlsSettings tls(ConfigValues values, ServerTlsKeys keys) {
    return new ServerTlsSettings(
        values.get(keys.certificateFile()),
        values.get(keys.keyFile()),
        values.get(keys.keyPassword()),
        values.get(keys.clientCaFile()),
        values.get(keys.clientCertificates()),
        values.get(keys.handshakeTimeout()));
  }

  private static Http2FrontSettings http2(ConfigValues values) {
    return new Http2FrontSettings(
        values.get(ListenerKeys.HTTP2_ENABLED),
        values.get(ListenerKeys.HTTP2_UPGRADE),
        values.get(ListenerKeys.HTTP2_MAX_STREAMS),
        values.get(ListenerKeys.HTTP2_MAX_RESETS));
  }

  private static ForwardedSettings forwarded(ConfigValues values) {
    return new ForwardedSettings(
        values.get(HeaderKeys.FORWARDED_SEND),
        values.get(HeaderKeys.TRUSTED_PROXIES).stream()
            .map(text -> network("trusted-proxies", text))
            .toList());
  }

  private static Network network(String key, String text) {
    try {
      return Network.of(text);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(key + ": " + e.getMessage(), e);
    }
  }

  private static AdmissionSettings admission(ConfigValues values) {
    List<ModelLimit> models = new ArrayList<>();
    for (ModelQueue each : values.get(QueueKeys.MODEL_QUEUES)) {
      models.add(
          new ModelLimit(
              each.model(),
              each.maxConcurrent(),
              orElse(each.queueSize(), values.get(QueueKeys.QUEUE_SIZE)),
              orElse(each.fullStatus(), values.get(QueueKeys.QUEUE_FULL_STATUS))));
    }
    return new AdmissionSettings(
        values.get(QueueKeys.MAX_CONCURRENT),
        values.get(QueueKeys.QUEUE_SIZE),
        values.get(QueueKeys.QUEUE_TIMEOUT),
        values.get(QueueKeys.QUEUE_TIMEOUT_STATUS),
        values.get(QueueKeys.RATE_PER_SECOND),
        values.get(QueueKeys.QUEUE_FULL_STATUS),
        models,
        values.get(QueueKeys.MAX_PRIORITY),
        values.get(QueueKeys.HIGH_SHARE));
  }

  private static int orElse(@Nullable Integer own, int ofAll) {
    return own == null ? ofAll : own;
  }

  private static LimitSettings limits(ConfigValues values) {
    long body = values.get(FrontKeys.MAX_BUFFERED_BODY);
    long total = values.get(FrontKeys.MAX_BUFFERED_TOTAL);
    if (total != 0 && total < LEAST_BUFFERED_TOTAL) {
      throw new ConfigException(
          "limits.max-buffered-total: " + total + " (expected: 0, or 1 MiB or more)");
    }
    if (total != 0 && total < body) {
      // Otherwise some bodies below the buffer limit could never be buffered.
      throw new ConfigException(
          "limits.max-buffered-total: "
              + total
              + " (expected: at least limits.max-buffered-body, "
              + body
              + ")");
    }
    return new LimitSettings(
        values.get(FrontKeys.MAX_BODY),
        Math.toIntExact(values.get(FrontKeys.MAX_HEADER)),
        Math.toIntExact(values.get(FrontKeys.MAX_URI)),
        Math.toIntExact(values.get(FrontKeys.MAX_BUFFERED_BODY)),
        values.get(FrontKeys.MAX_BUFFERED_TOTAL),
        values.get(FrontKeys.BODY_DECODING),
        new ClientLimits(
            values.get(FrontKeys.MAX_CONNECTIONS_PER_ADDRESS),
            values.get(FrontKeys.MAX_BUFFERED_SHARE),
            values.get(FrontKeys.MIN_UPLOAD_RATE),
            values.get(FrontKeys.UPLOAD_GRACE),
            values.get(FrontKeys.EVICT_IDLE),
            values.get(FrontKeys.SEARCHES_PER_SECOND),
            values.get(AdminKeys.SEARCH_RESPONSES),
            quota(values)),
        new LimitSettings.Strictness(
            values.get(FrontKeys.STANDARD_METHODS),
            !values.get(DisaggKeys.PROTOCOL).equals(DisaggSettings.OFF),
            values.get(FrontKeys.STRICT_VALIDATION)));
  }

  private static ClientQuota quota(ConfigValues values) {
    return new ClientQuota(
        values.get(ClientLimitKeys.CONCURRENCY),
        values.get(ClientLimitKeys.REQUESTS_PER_MINUTE),
        values.get(ClientLimitKeys.PROMPT_TOKENS),
        values.get(ClientLimitKeys.OUTPUT_TOKENS),
        values.get(ClientLimitKeys.REQUESTS_PER_DAY),
        values.get(ClientLimitKeys.TOKENS_PER_DAY));
  }

  private static TimeoutSettings timeouts(ConfigValues values) {
    return new TimeoutSettings(
        values.get(ForwardKeys.FIRST_BYTE_TIMEOUT),
        values.get(ForwardKeys.IDLE_TIMEOUT),
        values.get(ForwardKeys.TOTAL_TIMEOUT),
        values.get(ForwardKeys.STREAM_TOTAL_TIMEOUT),
        values.get(ForwardKeys.CLIENT_HEAD_TIMEOUT),
        values.get(ForwardKeys.CLIENT_BODY_TIMEOUT),
        values.get(ForwardKeys.CLIENT_IDLE_TIMEOUT));
  }

  private static RetrySettings retry(ConfigValues values) {
    return new RetrySettings(
        values.get(ForwardKeys.RETRY_ENABLED) ? values.get(ForwardKeys.RETRY_ATTEMPTS) : 1,
        values.get(ForwardKeys.RETRY_INITIAL_BACKOFF),
        values.get(ForwardKeys.RETRY_MAX_BACKOFF),
        values.get(ForwardKeys.RETRY_MULTIPLIER),
        values.get(ForwardKeys.RETRY_JITTER),
        values.get(ForwardKeys.RETRY_AFTER_TIMEOUT),
        values.get(ForwardKeys.RETRY_AFTER_LATE_RESET),
        values.get(ForwardKeys.RETRY_BUDGET),
        values.get(ForwardKeys.RETRY_PER_SECOND),
        new PoisonSettings(
            values.get(ForwardKeys.POISON_ENTRIES), values.get(ForwardKeys.POISON_TTL)));
  }

  private static UpstreamSettings upstream(ConfigValues values) {
    return new UpstreamSettings(
        values.get(ForwardKeys.CONNECT_TIMEOUT),
        values.get(ForwardKeys.POOL_IDLE),
        values.get(ForwardKeys.POOL_MAX_IDLE),
        UpstreamSettings.DEFAULTS.maxHeadBytes(),
        values.get(ForwardKeys.NAME_TTL),
        values.get(ForwardKeys.TCP_USER_TIMEOUT),
        new EngineKeys(
            unlessEmpty(values.get(ForwardKeys.API_KEY)),
            unlessEmpty(values.get(DisaggKeys.PREFILL_API_KEY)),
            unlessEmpty(values.get(DisaggKeys.DECODE_API_KEY)),
            values.get(ForwardKeys.API_KEY_REPLACES),
            values.get(ForwardKeys.WORKER_KEYS)));
  }

  private static @Nullable String unlessEmpty(String text) {
    return text.isEmpty() ? null : text;
  }
}
