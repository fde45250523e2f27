package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.bytes;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.decimal;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.durationOrOff;
import static io.pointsman.config.value.ValueTypes.durationOrSwitch;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.modelQueues;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.config.value.ModelQueue;
import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.proxy.settings.BodyDecoding;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.request.AffinitySettings;
import java.time.Duration;
import java.util.List;

/** Keys of the client side: listener, limits, headers. */
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
          "An empty list: only a listener on the loopback without keys of clients refuses other"
              + " names, if `Host` has its own port. A web page with a name that resolves to the"
              + " loopback sends that. A name that strangers control lets their web pages use the"
              + " router.");

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

  public static final Key<Integer> MAX_CONCURRENT =
      Key.of(
              "limits.max-concurrent-requests",
              integer(0, 10_000_000),
              AdmissionSettings.DEFAULTS.maxConcurrentRequests(),
              "Maximum number of requests in progress. A request counts until its response ends."
                  + " Excess requests wait in the queue.",
              "`0`: no limit. A low value makes clients wait although workers are idle.")
          .flag("--max-concurrent-requests");

  public static final Key<Integer> RATE_PER_SECOND =
      Key.of(
              "limits.rate-per-second",
              integer(0, 10_000_000),
              AdmissionSettings.DEFAULTS.ratePerSecond(),
              "Maximum average request rate per second. Excess requests wait in the queue. A burst"
                  + " can have `limits.max-concurrent-requests` requests; if that is `0`, one"
                  + " second's worth.",
              "`0`: no limit. A low value makes clients wait although workers are idle.")
          .flag("--rate-per-second");

  public static final Key<Integer> QUEUE_SIZE =
      Key.of(
              "limits.queue-size",
              integer(0, 1_000_000),
              AdmissionSettings.DEFAULTS.queueSize(),
              "Maximum number of requests in the queue. In a full queue, the last request of the"
                  + " lowest priority, of the client with most requests there, is refused with"
                  + " `limits.queue-full-status`. It can be the new one.",
              "`0`: no queue; excess requests are refused at once. With a high value, clients wait"
                  + " up to `limits.queue-timeout`.")
          .flag("--queue-size");

  public static final Key<Integer> QUEUE_FULL_STATUS =
      Key.of(
              "limits.queue-full-status",
              integer(400, 599),
              AdmissionSettings.DEFAULTS.queueFullStatus(),
              "HTTP status of the answer when the queue is full.",
              "Most clients retry both 429 and 503. Some count them separately in their metrics.")
          .flag("--queue-full-status");

  public static final Key<Duration> QUEUE_TIMEOUT =
      Key.of(
              "limits.queue-timeout",
              duration(Duration.ofMillis(1), Duration.ofHours(24)),
              AdmissionSettings.DEFAULTS.queueTimeout(),
              "Maximum time in the queue. Then the router answers with"
                  + " `limits.queue-timeout-status`.",
              "A low value refuses requests early in bursts. A high value makes clients wait long"
                  + " before they learn of an overload.")
          .flag("--queue-timeout");

  public static final Key<Integer> QUEUE_TIMEOUT_STATUS =
      Key.of(
              "limits.queue-timeout-status",
              integer(400, 599),
              AdmissionSettings.DEFAULTS.queueTimeoutStatus(),
              "HTTP status of the answer after `limits.queue-timeout`.",
              "408 makes some clients retry at once.")
          .flag("--queue-timeout-status");

  public static final Key<Priority> MAX_PRIORITY =
      Key.of(
          "limits.max-priority",
          constant(Priority.class),
          AdmissionSettings.DEFAULTS.maxPriority(),
          "Highest priority in the queue that a client can choose by the header"
              + " `x-pointsman-priority` (`high`, `normal` or `low`), if its key has none of its"
              + " own. Requests without the header have the priority of their key, else `normal`.",
          "`high`: clients can pass all others. `low`: clients without a key of their own wait"
              + " behind those with one.");

  public static final Key<Double> HIGH_SHARE =
      Key.of(
          "limits.high-priority-share",
          decimal(0, 0.5),
          AdmissionSettings.DEFAULTS.highShare(),
          "Share of `limits.max-concurrent-requests` that only requests of high priority can use,"
              + " for a minute after each of them; rounded up.",
          "`0`: a request of high priority waits until another request ends. With a high value,"
              + " other clients get less.");

  public static final Key<List<ModelQueue>> MODEL_QUEUES =
      Key.of(
          "limits.models",
          modelQueues(integer(1, 10_000_000), integer(0, 1_000_000), integer(400, 599)),
          List.of(),
          "Models with a queue of their own: a list of groups with `model`,"
              + " `max-concurrent-requests`, `queue-size` and `queue-full-status`. The last two"
              + " default to the values for all models.",
          "Requests for these models and their adapters use only their own queue. They do not count"
              + " towards `limits.rate-per-second`. All other models share the common queue.");

  public static final Key<Duration> DEFER_BEYOND =
      Key.of(
              "queue.defer-beyond",
              duration(Duration.ZERO, Duration.ofMinutes(1)),
              DeferralSettings.DEFAULTS.beyond(),
              "Defer a request in the router while every worker is full and the predicted wait on"
                  + " each worker exceeds this time. A worker is full if a whole further step of"
                  + " prompts (`cost.step-tokens`) already waits there. A busy worker is also full"
                  + " if it reports its KV memory and has none for the prompt. Deferred requests"
                  + " with the fewest uncached tokens are placed first. This needs a policy that"
                  + " predicts the wait (`cost`) and 2 to 128 workers. At most `limits.queue-size`"
                  + " requests are deferred. If one more arrives, the first one deferred for its"
                  + " model is placed. Only requests that the router forwards to a single worker"
                  + " are deferred; `/v1/decide`, HAProxy and nginx get their decision at once.",
              "`0`: no request is deferred. With a high value, more requests wait at a worker that"
                  + " was chosen early. Set `0` if a worker URL is a load balancer in front of"
                  + " several engines.")
          .flag("--defer-beyond");

  public static final Key<Duration> DEFER_AT_MOST =
      Key.of(
              "queue.defer-at-most",
              duration(Duration.ofMillis(1), Duration.ofHours(1)),
              DeferralSettings.DEFAULTS.longest(),
              "Maximum time for which a request is deferred. Then it is placed on the worker with"
                  + " the lowest cost, even if that worker is full.",
              "A low value gives up the benefit of deferral when the load exceeds the capacity. A"
                  + " high value delays prompts that do not fit into any worker's memory, while"
                  + " other prompts pass them.")
          .flag("--defer-at-most");

  public static final Key<Duration> DEFER_WITHOUT_WORKER =
      Key.of(
              "queue.defer-without-worker",
              duration(Duration.ZERO, Duration.ofHours(1)),
              DeferralSettings.DEFAULTS.withoutWorker(),
              "Defer a request for at most this time while no worker is available for it: none is"
                  + " registered, healthy or awake, or its models are not known yet. Use it for"
                  + " rollouts and for models that are scaled to zero. At most `limits.queue-size`"
                  + " requests are deferred; further ones get 503. Deferred requests count in"
                  + " `limits.max-concurrent-requests`. `GET /readiness` is then 200 without"
                  + " workers. `/v1/decide`, HAProxy and nginx get their answer at once.",
              "`0`: 503 with `Retry-After` at once. With a high value, clients wait long if an"
                  + " engine does not come back.")
          .flag("--defer-without-worker");

  public static final Key<Boolean> WAKE_SLEEPING =
      Key.of(
              "queue.wake-sleeping",
              bool(),
              false,
              "Call `POST /wake_up` of one engine if a request waits for a model with only sleeping"
                  + " workers. Needs `queue.defer-without-worker`, which must be longer than the"
                  + " engine needs to load its weights.",
              "`false`: a sleeping engine gets requests after somebody else has woken it.")
          .flag("--wake-sleeping");

  public static final Key<Duration> SSE_KEEPALIVE =
      Key.of(
          "sse-keepalive",
          durationOrSwitch(Duration.ofMillis(100), Duration.ofHours(1), Duration.ofSeconds(15)),
          ProxySettings.DEFAULTS.sseKeepalive(),
          "Send a comment on an event stream after this time without data. This keeps proxies and"
              + " load balancers from closing an idle connection.",
          "`off`: no comments. A low value costs bytes on every waiting stream.");

  public static final Key<List<String>> REQUEST_ID_HEADERS =
      Key.of(
              "headers.request-id",
              texts("<name>", "header names"),
              HeaderSettings.DEFAULTS.requestIdHeaders(),
              "Request headers that can contain the request id, in order; the first one present is"
                  + " used. The response returns the id in `x-request-id`.",
              "An empty list: the router generates every id.")
          .flag("--request-id-headers");

  public static final Key<String> SESSION_HEADER =
      Key.of(
              "headers.session",
              text("<name>", "a header name", false),
              AffinitySettings.DEFAULT.sessionHeader(),
              "Request header that contains the session id. Upper and lower case are equal, and so"
                  + " are `-` and `_`.",
              "If the header is missing, the router looks at other well-known session headers and"
                  + " body fields.")
          .flag("--session-header");

  public static final Key<String> SESSION_FIELD =
      Key.of(
          "headers.session-field",
          text("<name>", "a name", true),
          AffinitySettings.DEFAULT.sessionField(),
          "Body field that contains the session id if the header `headers.session` is missing.",
          "If you set it, no other header or field is used. Empty: all well-known headers and"
              + " fields are used.");

  public static final Key<List<String>> OWNER_HEADERS =
      Key.of(
              "headers.owner",
              texts("<name>", "header names"),
              AffinitySettings.DEFAULT.ownerHeaders(),
              "Request headers that contain a user or tenant id, in order. The id is used as"
                  + " session id if the request has no session header; it comes before body"
                  + " fields.",
              "An empty list: only session headers and body fields are used.")
          .flag("--owner-headers");

  public static final Key<List<String>> AFFINITY_REQUEST_HEADERS =
      Key.of(
              "headers.affinity-last",
              texts("<name>", "header names"),
              AffinitySettings.DEFAULT.requestHeaders(),
              "Request headers with a value that is new in every request, in order. Hash policies"
                  + " use the value if nothing else identifies the request. It never starts a"
                  + " session.",
              "An empty list: hash policies use the prompt instead.")
          .flag("--affinity-last-headers");

  public static final Key<Boolean> WORKER_HEADER =
      Key.of(
              "headers.worker",
              bool(),
              HeaderSettings.DEFAULTS.workerHeader(),
              "Return the worker that served a request in the response header"
                  + " `x-pointsman-worker`.",
              "`false` hides the workers from clients.")
          .flag("--worker-header");

  public static final Key<Boolean> CORS_ENABLED =
      Key.of(
          "cors.enabled",
          bool(),
          CorsSettings.DEFAULTS.enabled(),
          "Allow web pages from other origins to call the router.",
          "`false`: preflight requests (`OPTIONS`) go to the engines, and permissions of engines"
              + " (`Access-Control-*`) are removed.");

  public static final Key<List<String>> CORS_ORIGINS =
      Key.of(
          "cors.allowed-origins",
          texts("<origin>", "origins such as https://chat.example"),
          CorsSettings.DEFAULTS.allowedOrigins(),
          "Origins that can call the router if `cors.enabled` is `true`. They may send every header"
              + " and use every path.",
          "An empty list allows every origin, but not on the router's own paths, for example"
              + " `/workers`. `/health`, `/liveness`, `/readiness` and `/v1/models` are open to"
              + " all.");

  public static final Key<Boolean> FORWARDED_SEND =
      Key.of(
          "forwarded.send",
          bool(),
          ForwardedSettings.DEFAULTS.sent(),
          "Send the client's address to workers, in `X-Forwarded-For`, `X-Forwarded-Proto` and"
              + " `X-Real-IP`. The client's own values count only if it is one of"
              + " `forwarded.trusted-proxies`.",
          "`false`: workers get none of these headers, and no `Forwarded`.");

  public static final Key<List<String>> TRUSTED_PROXIES =
      Key.of(
          "forwarded.trusted-proxies",
          texts("<network>", "networks such as 10.0.0.0/8"),
          List.of(),
          "Addresses and networks of proxies in front of the router. The router adds its client's"
              + " address to their `X-Forwarded-For` and `Forwarded`, and keeps their other"
              + " headers of this kind.",
          "An empty list: headers of this kind from any client are replaced. A network with"
              + " clients in it: these clients can name any address as theirs.");

  private FrontKeys() {}

  static List<Key<?>> all() {
    return List.of(
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
        STANDARD_METHODS,
        MAX_CONCURRENT,
        RATE_PER_SECOND,
        QUEUE_SIZE,
        QUEUE_FULL_STATUS,
        QUEUE_TIMEOUT,
        QUEUE_TIMEOUT_STATUS,
        MAX_PRIORITY,
        HIGH_SHARE,
        MODEL_QUEUES,
        DEFER_BEYOND,
        DEFER_AT_MOST,
        DEFER_WITHOUT_WORKER,
        WAKE_SLEEPING,
        STRICT_VALIDATION,
        BODY_DECODING,
        FORWARD_HANDOVERS,
        SSE_KEEPALIVE,
        REQUEST_ID_HEADERS,
        SESSION_HEADER,
        SESSION_FIELD,
        OWNER_HEADERS,
        AFFINITY_REQUEST_HEADERS,
        WORKER_HEADER,
        FORWARDED_SEND,
        TRUSTED_PROXIES,
        CORS_ENABLED,
        CORS_ORIGINS);
  }
}
