package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.api.admin.Json;
import io.pointsman.api.decide.RayRouteApi;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.AnthropicErrors;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.request.RequestReader;
import java.net.ProtocolException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers HAProxy's SPOE messages with transaction variables. Each message becomes a query of
 * {@code /internal/route}, as nginx sends it, and both get the same answer.
 */
final class SpoeAnswers {
  private static final Logger log = LoggerFactory.getLogger(SpoeAnswers.class);
  private static final String PATH = "/internal/route";
  private static final String PATH_HEADER = "x-serve-request-path";
  private static final byte[] NOTHING = {};

  /**
   * Statuses that the client gets; after any other, HAProxy balances by its own checks. nginx's
   * script has the same ones.
   */
  static final Set<Integer> REFUSALS = Set.of(400, 401, 403, 404, 413, 429, 431, 503, 529);

  /** Statuses of {@link #REFUSALS} with a {@code Retry-After}. */
  static final Set<Integer> WAITS = Set.of(429, 503, 529);

  private final LocalEndpoint route;
  private final CallerCheck callers;
  private final Causes logged = new Causes();

  SpoeAnswers(LocalEndpoint route, CallerCheck callers) {
    this.route = route;
    this.callers = callers;
  }

  /** The query in HAProxy's message; HAProxy sends one message per request. */
  static LocalRequest question(SpoeReader frame) throws ProtocolException {
    frame.text();
    int arguments = frame.octet();
    Map<String, Object> named = new HashMap<>();
    for (int i = 0; i < arguments; i++) {
      String name = frame.text();
      Object value = frame.value();
      if (value != null) {
        named.put(name, value);
      }
    }
    Map<String, List<String>> headers = headers(named.get("headers"));
    headers.put("x-pointsman-lease-ttl", List.of(String.valueOf(named.getOrDefault("ttl", ""))));
    // Ignores the client's own header; only HAProxy's message can contain a lease id.
    headers.remove("x-pointsman-lease");
    if (named.get("lease") instanceof String lease) {
      headers.put("x-pointsman-lease", List.of(lease));
    }
    headers.put("x-serve-request-method", List.of(String.valueOf(named.get("method"))));
    headers.put(PATH_HEADER, List.of(String.valueOf(named.getOrDefault("path", ""))));
    byte[] body = named.get("body") instanceof byte[] bytes ? bytes : NOTHING;
    // Without a length, the body may be longer than the part that HAProxy has buffered.
    boolean truncated =
        named.containsKey("length")
            ? length(named.get("length")) > body.length
            : body.length >= HaproxyFiles.BODY_WAIT;
    return new LocalRequest(
        "POST", PATH, "", headers, body, truncated, "", Caller.Kind.PLANE, null);
  }

  private static long length(@Nullable Object written) {
    String digits = String.valueOf(written);
    return digits.matches("[0-9]{1,18}") ? Long.parseLong(digits) : 0;
  }

  /** Reads alternating names and values, up to two empty texts. */
  private static Map<String, List<String>> headers(@Nullable Object binary)
      throws ProtocolException {
    Map<String, List<String>> headers = new HashMap<>();
    if (binary instanceof byte[] bytes) {
      SpoeReader reader = new SpoeReader(bytes, 0, bytes.length);
      for (String name = reader.text(); !name.isEmpty(); name = reader.text()) {
        headers
            .computeIfAbsent(name.toLowerCase(Locale.ROOT), _ -> new ArrayList<>(1))
            .add(reader.text());
      }
    }
    return headers;
  }

  private static @Nullable String credentials(LocalRequest question) {
    return CallerCheck.credentials(question.header("authorization"), question.header("x-api-key"));
  }

  /** True if the response needs no query to a validation server. */
  boolean atOnce(LocalRequest question) {
    String authorization = credentials(question);
    return callers.known(authorization) != CallerCheck.Verdict.UNKNOWN;
  }

  /** Sets the variables; none if HAProxy must balance by itself. */
  void answer(LocalRequest question, SpoeWriter variables) {
    String authorization = credentials(question);
    KeyHolder holder = callers.holder(authorization);
    CallerCheck.Admittance admission =
        holder == null ? admission(authorization) : admission(holder);
    ProxyError refusal = holder == null ? refusal(admission) : refusal(holder);
    if (refusal != null) {
      logOnce(refusal.status());
      String json = refusal.json(refusal.message());
      variables
          .set("status", refusal.status())
          .set("body", inForm(question, refusal.status(), json));
      return;
    }
    try {
      ClientIdentity client = admission.client();
      LocalRequest asked = client == null ? question : question.of(client);
      write(question, route.handle(asked), variables);
    } catch (Exception e) {
      log.error("a request of HAProxy failed", e);
    }
  }

  private static @Nullable ProxyError refusal(KeyHolder holder) {
    return holder.role() == KeyRole.CLIENT ? null : ProxyError.KEY_NOT_PERMITTED;
  }

  private static CallerCheck.Admittance admission(KeyHolder holder) {
    return new CallerCheck.Admittance(CallerCheck.Verdict.ADMITTED, holder.identity());
  }

  private CallerCheck.Admittance admission(@Nullable String authorization) {
    CallerCheck.Admittance known = callers.admission(authorization);
    return known.verdict() == CallerCheck.Verdict.UNKNOWN && authorization != null
        ? callers.askAdmission(authorization)
        : known;
  }

  private static @Nullable ProxyError refusal(CallerCheck.Admittance admission) {
    return switch (admission.verdict()) {
      case ADMITTED -> null;
      case REFUSED -> ProxyError.INVALID_API_KEY;
      case UNKNOWN -> ProxyError.KEY_UNCONFIRMED;
    };
  }

  private void logOnce(int status) {
    if (logged.isNew(Integer.toString(status))) {
      log.warn("some requests of HAProxy get status {}; logged once", status);
    }
  }

  /** Logs that a response exceeds HAProxy's frame size. */
  void tooLong(int length) {
    if (logged.isNew("too long")) {
      log.warn("an answer of {} bytes is too long for HAProxy and is dropped; logged once", length);
    }
  }

  /** An error in OpenAI's form, in the form of the API that the client calls. */
  private static String inForm(LocalRequest question, int status, String json) {
    if (!AnthropicErrors.at(String.valueOf(question.header(PATH_HEADER)))) {
      return json;
    }
    try {
      JsonNode message = Json.MAPPER.readTree(json).path("error").path("message");
      return message.isTextual() ? AnthropicErrors.json(status, message.textValue()) : json;
    } catch (JsonProcessingException e) {
      // Not JSON: the router's plain text. It goes to the client unchanged.
      return json;
    }
  }

  private void write(LocalRequest question, LocalResponse response, SpoeWriter variables)
      throws Exception {
    if (response.status() != 200) {
      logOnce(response.status());
    }
    if (REFUSALS.contains(response.status())) {
      if (response.headers().containsKey(RayRouteApi.UNPLACED_HEADER)) {
        variables.set("unplaced", 1);
        return;
      }
      String json = new String(response.body(), UTF_8);
      variables
          .set("status", response.status())
          .set("body", inForm(question, response.status(), json));
      String wait = response.headers().get("retry-after");
      if (wait != null) {
        variables.set("retry", wait);
      }
      return;
    }
    if (response.status() != 200) {
      return;
    }
    JsonNode answer = Json.MAPPER.readTree(response.body());
    set(variables, "worker", answer.path("replica_id"));
    set(variables, "lease", answer.path("lease"));
    JsonNode headers = answer.path("request_headers");
    set(variables, "adapter", headers.path(RequestReader.MULTIPLEXED));
    set(variables, "rank", headers.path("X-data-parallel-rank"));
  }

  private static void set(SpoeWriter variables, String name, JsonNode value) {
    if (value.isTextual()) {
      variables.set(name, value.textValue());
    }
  }
}
