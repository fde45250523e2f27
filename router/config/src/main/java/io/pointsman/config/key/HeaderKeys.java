package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.durationOrSwitch;
import static io.pointsman.config.value.ValueTypes.text;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.request.AffinitySettings;
import java.time.Duration;
import java.util.List;

/** Keys of the headers that the router reads, adds and forwards, and of CORS. */
public final class HeaderKeys {
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
              + " and use every path. Without `cors.enabled` the list applies to WebSockets only.",
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
          "An empty list: headers of this kind from any client are replaced. If the list"
              + " includes clients, they can claim any address.");

  private HeaderKeys() {}

  static List<Key<?>> all() {
    return List.of(
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
