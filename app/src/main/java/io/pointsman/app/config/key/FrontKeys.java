package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.bool;
import static io.pointsman.app.config.value.ValueTypes.bytes;
import static io.pointsman.app.config.value.ValueTypes.duration;
import static io.pointsman.app.config.value.ValueTypes.durationOrSwitch;
import static io.pointsman.app.config.value.ValueTypes.integer;
import static io.pointsman.app.config.value.ValueTypes.modelQueues;
import static io.pointsman.app.config.value.ValueTypes.text;
import static io.pointsman.app.config.value.ValueTypes.texts;

import io.pointsman.app.config.value.ModelQueue;
import io.pointsman.engine.holdback.HoldBackSettings;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
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
              "Address to listen on.",
              "The default is reached from this machine only; 0.0.0.0 listens on every address.")
          .flag("--host");

  public static final Key<Integer> PORT =
      Key.of(
              "listen.port",
              integer(0, 65_535),
              ListenSettings.DEFAULTS.port(),
              "Port to listen on.",
              "0 takes any free port and prints it.")
          .flag("--port");

  public static final Key<Integer> BACKLOG =
      Key.of(
              "listen.backlog",
              integer(1, 1 << 20),
              ListenSettings.DEFAULTS.backlog(),
              "Connections that may wait to be accepted.",
              "Small refuses bursts; the system has a bound of its own.")
          .flag("--backlog");

  public static final Key<Integer> MAX_CONNECTIONS =
      Key.of(
              "limits.max-connections",
              integer(0, 10_000_000),
              ListenSettings.DEFAULTS.maxConnections(),
              "Most clients that are connected at a time; who comes beyond them waits to be"
                  + " accepted until one has left (listen.backlog).",
              "0 is three quarters of the file descriptors that the process may have beyond those"
                  + " that it needs itself, so that clients leave some for connections to workers;"
                  + " more lets idle clients take them all. Small has probes wait too that come to"
                  + " this port: let a liveness probe ask for /health on the metrics port.")
          .flag("--max-connections");

  public static final Key<Long> MAX_BODY =
      Key.of(
              "limits.max-body",
              bytes(1, 1L << 40),
              LimitSettings.DEFAULTS.maxBodyBytes(),
              "Largest request body; a larger one is answered with 413.",
              "Small refuses long prompts and audio; large costs no memory, since bodies above"
                  + " limits.max-buffered-body are streamed.")
          .flag("--max-body");

  public static final Key<Long> MAX_BUFFERED_BODY =
      Key.of(
              "limits.max-buffered-body",
              bytes(0, 1L << 29),
              (long) LimitSettings.DEFAULTS.maxBufferedBody(),
              "Largest request body that is kept in memory; a larger one is routed on its head and"
                  + " streamed on. Where workers serve different models and its head names none,"
                  + " eight times as much is kept to look for the model.",
              "Small gives up retries for long prompts, 0 for all; large lets each request in"
                  + " flight hold as much memory.")
          .flag("--max-buffered-body");

  public static final Key<Long> MAX_BUFFERED_TOTAL =
      Key.of(
              "limits.max-buffered-total",
              bytes(1L << 20, 1L << 40),
              LimitSettings.DEFAULTS.maxBufferedTotal(),
              "Most bytes that are kept of all requests together, outside of the heap, no less than"
                  + " of one (limits.max-buffered-body); beyond it requests are answered with 503"
                  + " and Retry-After. From three quarters of it on bodies above 64 KiB are"
                  + " streamed on without retries, unless the fleet has prefill and decode workers."
                  + " The router's own endpoints handle a quarter of as much at a time, on the"
                  + " heap.",
              "Small refuses requests under load; more than half of the JVM's"
                  + " -XX:MaxDirectMemorySize, which is 2 GiB, lets memory run out.")
          .flag("--max-buffered-total");

  public static final Key<Long> MAX_HEADER =
      Key.of(
              "limits.max-header",
              bytes(256, 1L << 20),
              (long) LimitSettings.DEFAULTS.maxHeaderBytes(),
              "Largest header section of a request; a larger one, or one of more than 1,000 lines,"
                  + " is answered with 431.",
              "Small refuses long cookies and tokens; large lets strangers hold memory.")
          .flag("--max-header");

  public static final Key<Long> MAX_URI =
      Key.of(
              "limits.max-uri",
              bytes(64, 1L << 20),
              (long) LimitSettings.DEFAULTS.maxUriBytes(),
              "Longest request line; a longer one is answered with 414.",
              "Small refuses long query strings.")
          .flag("--max-uri");

  public static final Key<Integer> MAX_CONCURRENT =
      Key.of(
              "limits.max-concurrent-requests",
              integer(0, 10_000_000),
              AdmissionSettings.DEFAULTS.maxConcurrentRequests(),
              "Most requests at once, each counted until the end of its answer.",
              "0 is no limit; small makes clients wait in the queue.")
          .flag("--max-concurrent-requests");

  public static final Key<Integer> RATE_PER_SECOND =
      Key.of(
              "limits.rate-per-second",
              integer(0, 10_000_000),
              AdmissionSettings.DEFAULTS.ratePerSecond(),
              "Requests let in per second in the long run; those above it wait in the queue. A"
                  + " burst may be as large as limits.max-concurrent-requests, or else one second's"
                  + " worth.",
              "0 is no limit; small makes clients wait in the queue.")
          .flag("--rate-per-second");

  public static final Key<Integer> QUEUE_SIZE =
      Key.of(
              "limits.queue-size",
              integer(0, 1_000_000),
              AdmissionSettings.DEFAULTS.queueSize(),
              "Requests that may wait for a place; when full, the answer is"
                  + " limits.queue-full-status.",
              "0 refuses at once; large lets clients wait up to limits.queue-timeout.")
          .flag("--queue-size");

  public static final Key<Integer> QUEUE_FULL_STATUS =
      Key.of(
              "limits.queue-full-status",
              integer(400, 599),
              AdmissionSettings.DEFAULTS.queueFullStatus(),
              "Status of the answer to a request that finds the queue full.",
              "Clients retry 429 and 503 alike; some tell them apart in their metrics.")
          .flag("--queue-full-status");

  public static final Key<Duration> QUEUE_TIMEOUT =
      Key.of(
              "limits.queue-timeout",
              duration(Duration.ofMillis(1), Duration.ofHours(24)),
              AdmissionSettings.DEFAULTS.queueTimeout(),
              "Longest wait for a place; after it the answer is 503.",
              "Short fails early under bursts; long keeps clients hanging.")
          .flag("--queue-timeout");

  public static final Key<Integer> QUEUE_TIMEOUT_STATUS =
      Key.of(
              "limits.queue-timeout-status",
              integer(400, 599),
              AdmissionSettings.DEFAULTS.queueTimeoutStatus(),
              "Status of the answer to a request that waited for limits.queue-timeout.",
              "408 makes some clients retry at once.")
          .flag("--queue-timeout-status");

  public static final Key<Duration> HOLD_BEYOND =
      Key.of(
              "limits.hold-beyond",
              duration(Duration.ZERO, Duration.ofMinutes(1)),
              HoldBackSettings.DEFAULTS.beyond(),
              "Hold a request back in the router while every worker is full and the predicted wait"
                  + " is longer than this on each. A worker is full if a whole further step of"
                  + " prompts (cost.step-tokens) waits there already. A busy worker is also full if"
                  + " it reports its KV memory and has none for the prompt. Held requests with the"
                  + " fewest uncached tokens are placed first. Only under policies that predict the"
                  + " wait (cost), with 2 to 128 workers, and for at most limits.queue-size"
                  + " requests; one more places the first of its model. Requests that one worker"
                  + " serves whole and that pass through the router are held; /v1/decide, HAProxy"
                  + " and nginx get their decision at once.",
              "0 holds none back. A higher value lets more requests wait at a worker that was"
                  + " chosen early. Set 0 if a worker URL is a load balancer in front of several"
                  + " engines.")
          .flag("--hold-beyond");

  public static final Key<Duration> HOLD_LONGEST =
      Key.of(
              "limits.hold-longest",
              duration(Duration.ofMillis(1), Duration.ofHours(1)),
              HoldBackSettings.DEFAULTS.longest(),
              "Longest time for which a request is held back. Then it is placed on the worker with"
                  + " the lowest cost, even if that is full.",
              "A low value gives up the benefit of holding back above capacity. A high value delays"
                  + " prompts that no worker has memory for, while others pass them.")
          .flag("--hold-longest");

  public static final Key<List<ModelQueue>> MODEL_QUEUES =
      Key.of(
          "limits.models",
          modelQueues(integer(1, 10_000_000), integer(0, 1_000_000), integer(400, 599)),
          List.of(),
          "Models with a waiting line of their own: a list of groups with model,"
              + " max-concurrent-requests, queue-size and queue-full-status; of the latter two,"
              + " what is not said is as for all models.",
          "Requests for them and for their adapters stand in no other line, nor count towards"
              + " limits.rate-per-second; a model that is not listed stands in the line of all.");

  public static final Key<Duration> SSE_KEEPALIVE =
      Key.of(
          "sse-keepalive",
          durationOrSwitch(Duration.ofMillis(100), Duration.ofHours(1), Duration.ofSeconds(15)),
          ProxySettings.DEFAULTS.sseKeepalive(),
          "Silence after which a comment is sent on an event stream, so that nothing between"
              + " router and client gives up on it.",
          "off sends none; short costs bytes on every waiting stream.");

  public static final Key<List<String>> REQUEST_ID_HEADERS =
      Key.of(
              "headers.request-id",
              texts("<name>", "header names"),
              HeaderSettings.DEFAULTS.requestIdHeaders(),
              "Headers that may carry the id of a request, the first present one counts; it is"
                  + " answered as x-request-id.",
              "An empty list makes the router generate every id.")
          .flag("--request-id-headers");

  public static final Key<String> SESSION_HEADER =
      Key.of(
              "headers.session",
              text("<name>", "a header name", false),
              AffinitySettings.DEFAULT.sessionHeader(),
              "Header that names the session of a request; case does not matter, and - equals _.",
              "Other well-known session headers and body fields are looked at after it.")
          .flag("--session-header");

  public static final Key<String> SESSION_FIELD =
      Key.of(
          "headers.session-field",
          text("<name>", "a name", true),
          AffinitySettings.DEFAULT.sessionField(),
          "The one body field that names a session where headers.session does not.",
          "With a name no other header or field names a session; empty has all that are known.");

  public static final Key<List<String>> OWNER_HEADERS =
      Key.of(
              "headers.owner",
              texts("<name>", "header names"),
              AffinitySettings.DEFAULT.ownerHeaders(),
              "Headers that name a user or a tenant, in order; they count as session where no"
                  + " session is named.",
              "An empty list leaves it to the fields of the body.")
          .flag("--owner-headers");

  public static final Key<List<String>> AFFINITY_REQUEST_HEADERS =
      Key.of(
              "headers.affinity-last",
              texts("<name>", "header names"),
              AffinitySettings.DEFAULT.requestHeaders(),
              "Headers whose value changes with every request, in order; hashed where nothing else"
                  + " names the request, and never the start of a session.",
              "An empty list leaves such requests to the hash of their prompt.")
          .flag("--affinity-last-headers");

  public static final Key<Boolean> WORKER_HEADER =
      Key.of(
              "headers.worker",
              bool(),
              HeaderSettings.DEFAULTS.workerHeader(),
              "Whether answers say in x-pointsman-worker which worker served them.",
              "false hides the fleet from clients.")
          .flag("--worker-header");

  public static final Key<Boolean> CORS_ENABLED =
      Key.of(
          "cors.enabled",
          bool(),
          CorsSettings.DEFAULTS.enabled(),
          "Whether web pages of other origins may call the router.",
          "false hands preflight requests to the engines.");

  public static final Key<List<String>> CORS_ORIGINS =
      Key.of(
          "cors.allowed-origins",
          texts("<origin>", "origins such as https://chat.example"),
          CorsSettings.DEFAULTS.allowedOrigins(),
          "Origins that may call when cors.enabled is true.",
          "An empty list allows any.");

  private FrontKeys() {}

  static List<Key<?>> all() {
    return List.of(
        HOST,
        PORT,
        BACKLOG,
        MAX_CONNECTIONS,
        MAX_BODY,
        MAX_BUFFERED_BODY,
        MAX_BUFFERED_TOTAL,
        MAX_HEADER,
        MAX_URI,
        MAX_CONCURRENT,
        RATE_PER_SECOND,
        QUEUE_SIZE,
        QUEUE_FULL_STATUS,
        QUEUE_TIMEOUT,
        QUEUE_TIMEOUT_STATUS,
        HOLD_BEYOND,
        HOLD_LONGEST,
        MODEL_QUEUES,
        SSE_KEEPALIVE,
        REQUEST_ID_HEADERS,
        SESSION_HEADER,
        SESSION_FIELD,
        OWNER_HEADERS,
        AFFINITY_REQUEST_HEADERS,
        WORKER_HEADER,
        CORS_ENABLED,
        CORS_ORIGINS);
  }
}
