package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.durationOrOff;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.settings.BodyDecoding;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * Keys of the client side: listener, and limits of connections and bodies. {@link QueueKeys} and
 * {@link HeaderKeys} are also of the client side.
 */
public final class FrontKeys {
  public static final Key<String> HOST =
      Key.of(
              "listen.host",
              text("<host>", "a host name or address", false),
              ListenSettings.DEFAULTS.host(),
              "Address or host name to listen on.",
              "The default accepts connections from this machine only. `0.0.0.0` accepts them on"
                  + " every address.")
          .flag("--host");

  public static final Key<Integer> PORT =
      Key.of(
              "listen.port",
              integer(0, 65_535),
              ListenSettings.DEFAULTS.port(),
              "Port to listen on.",
              "`0`: the system chooses a free port, and the router prints it.")
          .flag("--port");

  public static final Key<List<String>> HOST_NAMES =
      Key.of(
          "listen.host-names",
          texts("<name>", "host names"),
          ListenSettings.DEFAULTS.hostNames(),
          "Host names by which clients call the router, besides `listen.host`, addresses,"
              + " `localhost`, names without a dot, and names in `.localhost`, `.local` and"
              + " `.internal`. The router answers a request with another name in `Host` with 403."
              + " The metrics port accepts the listed names too.",
          "Empty: only a loopback listener without client keys refuses other names, and only if the"
              + " port in `Host` is its own. This stops DNS rebinding. A name that strangers"
              + " control lets their web pages use the router.");

  public static final Key<Integer> BACKLOG =
      Key.of(
              "listen.backlog",
              integer(1, 1 << 20),
              ListenSettings.DEFAULTS.backlog(),
              "Maximum number of connections that wait to be accepted.",
              "A low value refuses bursts of new connections. The operating system limits it too"
                  + " (Linux: `net.core.somaxconn`).")
          .flag("--backlog");

  public static final Key<Integer> MAX_CONNECTIONS =
      Key.of(
              "limits.max-connections",
              integer(0, 10_000_000),
              ListenSettings.DEFAULTS.maxConnections(),
              "Maximum number of client connections. Further clients wait in the listen backlog"
                  + " (`listen.backlog`).",
              "`0`: three quarters of the free file descriptors; the rest stays free for"
                  + " connections to workers. A higher value lets idle clients use all file"
                  + " descriptors. If the limit is reached, health probes on this port wait too;"
                  + " probe `/health` on the metrics port instead.")
          .flag("--max-connections");

  public static final Key<Integer> MAX_CONNECTIONS_PER_ADDRESS =
      Key.of(
          "limits.max-connections-per-address",
          integer(0, 10_000_000),
          ClientLimits.DEFAULTS.maxConnections(),
          "Maximum number of connections of one client: an IPv4 address, or an IPv6 network of 64"
              + " bits. Further ones are closed. Proxies in `forwarded.trusted-proxies` have no"
              + " such limit.",
          "`0`: half of `limits.max-connections`. A low value refuses clients that share an"
              + " address. A value as high as `limits.max-connections`: one client can keep all"
              + " others away.");

  public static final Key<Long> MAX_BODY =
      Key.of(
              "limits.max-body",
              bytes(1, 1L << 40),
              LimitSettings.DEFAULTS.maxBodyBytes(),
              "Maximum size of a request body. The router answers larger bodies with 413.",
              "A low value refuses long prompts and audio. A high value costs no memory: bodies"
                  + " larger than `limits.max-buffered-body` are streamed.")
          .flag("--max-body");

  public static final Key<Long> MAX_BUFFERED_BODY =
      Key.of(
              "limits.max-buffered-body",
              bytes(0, 1L << 29),
              (long) LimitSettings.DEFAULTS.maxBufferedBody(),
              "Buffer request bodies up to this size, so they can be retried. Larger bodies are"
                  + " routed by their first part and streamed; they cannot be retried. If workers"
                  + " serve different models and the first part names none, up to eight times this"
                  + " size is buffered.",
              "`0`: every body is streamed. A low value gives up retries of long prompts. Each"
                  + " request in flight can use this much memory.")
          .flag("--max-buffered-body");

  public static final Key<Long> MAX_BUFFERED_TOTAL =
      Key.of(
              "limits.max-buffered-total",
              bytes(0, 1L << 40),
              0L,
              "Maximum size of all buffered request bodies together, outside the Java heap. It must"
                  + " not be less than `limits.max-buffered-body`. Above it, the router answers"
                  + " with 503 and Retry-After. Above three quarters, bodies larger than 64 KiB are"
                  + " streamed without retries, unless there are prefill and decode workers. The"
                  + " router's own endpoints can buffer a quarter of this value in addition, on the"
                  + " heap.",
              "`0`: half of the JVM's `-XX:MaxDirectMemorySize`, at most 768 MiB. The launcher sets"
                  + " that by the container's memory (docs/deploy.md#memory). A low value refuses"
                  + " requests under load. A value above half of the direct memory can exhaust it.")
          .flag("--max-buffered-total");

  public static final Key<Double> MAX_BUFFERED_SHARE =
      Key.of(
          "limits.max-buffered-share",
          decimal(0.01, 1),
          ClientLimits.DEFAULTS.bodyShare(),
          "Maximum share of `limits.max-buffered-total` for the bodies of one client, as in"
              + " `limits.max-connections-per-address`. Above it, the router answers with 503.",
          "`1`: one client can use all of it. A low value refuses clients that share an address.");

  public static final Key<Long> MIN_UPLOAD_RATE =
      Key.of(
          "limits.min-upload-rate",
          bytes(0, 1L << 30),
          ClientLimits.DEFAULTS.minUploadRate(),
          "Minimum rate in bytes per second at which the body of a request arrives, in each"
              + " `limits.upload-grace`. The router answers slower ones with 408. Time in which the"
              + " router or the worker does not read does not count.",
          "`0`: no minimum; clients that send little by little can hold memory until"
              + " `timeouts.total`. A high value refuses clients with slow networks.");

  public static final Key<Duration> UPLOAD_GRACE =
      Key.of(
          "limits.upload-grace",
          duration(Duration.ofMillis(100), Duration.ofHours(1)),
          ClientLimits.DEFAULTS.uploadGrace(),
          "Time over which `limits.min-upload-rate` is measured.",
          "A low value refuses clients that pause briefly.");

  public static final Key<Duration> EVICT_IDLE =
      Key.of(
          "limits.evict-idle",
          durationOrOff(Duration.ofMillis(100), Duration.ofHours(1)),
          ClientLimits.DEFAULTS.evictIdle(),
          "Close connections that are idle for this time, the longest idle first, while"
              + " `limits.max-connections` is reached or no file descriptor is free.",
          "`off`: idle clients stay connected until `timeouts.client-idle`. A low value closes"
              + " connections of clients that pause between two requests.");

  public static final Key<Integer> SEARCHES_PER_SECOND =
      Key.of(
          "limits.searches-per-second",
          integer(0, 1_000_000),
          ClientLimits.DEFAULTS.searchesPerSecond(),
          "Maximum number of searches per second, and of searches in progress, for a stored"
              + " response (`/v1/responses/{id}`) of an unknown worker. Each asks one worker"
              + " after another. Further ones get 503 and Retry-After. An id that no worker has"
              + " gets 404 for 10 s without a search.",
          "`0`: no search; after a restart of the router, stored responses are not found if there"
              + " are several workers. A high value lets a client with random ids multiply its"
              + " requests.");

  public static final Key<Long> MAX_HEADER =
      Key.of(
              "limits.max-header",
              bytes(256, 1L << 20),
              (long) LimitSettings.DEFAULTS.maxHeaderBytes(),
              "Maximum size of a request's header section. The router answers larger sections, or"
                  + " more than 1,000 header lines, with 431.",
              "A low value refuses long cookies and tokens. A high value lets any client use much"
                  + " memory.")
          .flag("--max-header");

  public static final Key<Long> MAX_URI =
      Key.of(
              "limits.max-uri",
              bytes(64, 1L << 20),
              (long) LimitSettings.DEFAULTS.maxUriBytes(),
              "Maximum length of a request line. The router answers longer ones with 414.",
              "A low value refuses long query strings.")
          .flag("--max-uri");

  public static final Key<Boolean> STANDARD_METHODS =
      Key.of(
          "limits.standard-methods",
          bool(),
          LimitSettings.DEFAULTS.strictness().methods(),
          "Answer 405 to all methods but `GET`, `HEAD`, `POST`, `PUT`, `PATCH` and `DELETE`, as"
              + " vllm-router does. Its routes take only their own methods. With prefill and decode"
              + " workers, unknown paths take only `POST`. Preflight requests are still answered if"
              + " `cors.enabled` is `true`.",
          "`false`: other methods, for example `OPTIONS`, go to the engines.");

  public static final Key<Boolean> STRICT_VALIDATION =
      Key.of(
              "bodies.strict-validation",
              bool(),
              LimitSettings.DEFAULTS.strictness().bodies(),
              "Check types and required members of bodies as vllm-router does, on chat,"
                  + " completions, embeddings, rerank and generate routes: 422 for a wrong type,"
                  + " 400 for an empty rerank. Rerank answers get its form too. Bodies that are"
                  + " streamed are not checked.",
              "`true`: new fields and content parts of the API are refused until the router knows"
                  + " them.")
          .flag("--strict-validation");

  public static final Key<BodyDecoding> BODY_DECODING =
      Key.of(
          "bodies.decode",
          constant(BodyDecoding.class),
          LimitSettings.DEFAULTS.decoding(),
          "Handling of request bodies with a `Content-Encoding` of `gzip`, `deflate`, `zstd` or"
              + " `br`. `auto`: decode them, and send them to workers decoded. `forward`: decode"
              + " them for routing only. `off`: do not decode them.",
          "Before and after the decoding, a body has at most `limits.max-buffered-body` bytes;"
              + " larger ones get 413. Other codings get 415. `forward` needs engines that decode;"
              + " with prefill and decode workers it is `auto`. `off` ignores the model and the"
              + " prompt of a compressed body.");

  public static final Key<Boolean> FORWARD_HANDOVERS =
      Key.of(
          "bodies.forward-handover-fields",
          bool(),
          HeaderSettings.DEFAULTS.handovers(),
          "Forward a client's fields of hand-overs between engines to regular workers:"
              + " `kv_transfer_params`, `bootstrap_*`, `disagg_prefill_*`, `request_id`, and an"
              + " `X-Request-Id` with addresses of engines. Prefill and decode workers never get"
              + " them.",
          "`false`: they are removed, and a body from which they cannot be removed gets 400."
              + " `true`: a client can make an engine connect to an address of its choice, and"
              + " choose the ids of responses. Set it if clients are trusted, for example another"
              + " router.");

  private FrontKeys() {}

  static List<Key<?>> all() {
    return Stream.of(
            List.<Key<?>>of(
                HOST,
                PORT,
                HOST_NAMES,
                BACKLOG,
                MAX_CONNECTIONS,
                MAX_CONNECTIONS_PER_ADDRESS,
                MAX_BODY,
                MAX_BUFFERED_BODY,
                MAX_BUFFERED_TOTAL,
                MAX_BUFFERED_SHARE,
                MIN_UPLOAD_RATE,
                UPLOAD_GRACE,
                EVICT_IDLE,
                SEARCHES_PER_SECOND,
                MAX_HEADER,
                MAX_URI,
                STANDARD_METHODS),
            QueueKeys.all(),
            List.<Key<?>>of(STRICT_VALIDATION, BODY_DECODING, FORWARD_HANDOVERS),
            HeaderKeys.all())
        .flatMap(List::stream)
        .toList();
  }
}
