package io.pointsman.api.decide;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.config.value.Nearest;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.EndReport;
import io.pointsman.engine.choice.LeaseResult;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.ProxyError;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reports of external proxies about their leases: {@code POST /v1/leases/{id}/settle}, {@code
 * /renew}, {@code /confirm}, {@code /prefilled}, {@code /first-token}.
 */
public final class LeasesApi {
  private static final String LEASES = "/v1/leases/";
  private static final List<String> OUTCOMES = List.of("succeeded", "failed", "ignored", "refused");
  private static final String LEFT = "left";
  private static final List<String> ENDINGS =
      List.of("succeeded", "failed", "ignored", "refused", LEFT);
  private static final List<String> FAILURES = List.of("connect", "error", "timeout");
  private static final List<String> COUNTS = List.of("prompt", "cached", "completion");

  /** Clients that left one worker without a byte, which exclude it. */
  private static final int OPEN_DEPARTURES = 4;

  private static final long MOST_TOKENS = 1L << 40;
  private static final long LONGEST_TTL_MILLIS = 999_999_999_999_999L;

  private final Choices choices;
  private final FailureEvidence evidence;

  /** Clients that left, as planes with a key report them. */
  private final FailureEvidence departures;

  /** The same of other callers: enough to find one hung worker. */
  private final FailureEvidence openDepartures;

  public LeasesApi(DecisionService service) {
    choices = service.choices();
    DoubleSupplier share = () -> choices.settings().failureShare();
    evidence = new FailureEvidence(share);
    departures = new FailureEvidence(share);
    openDepartures = new FailureEvidence(share, OPEN_DEPARTURES);
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.below("POST", LEASES, this::said).forPlanes("POST", LEASES);
  }

  private LocalResponse said(LocalRequest request) {
    String target = request.pathAfter(LEASES);
    int slash = target.indexOf('/');
    String lease = slash < 0 ? target : target.substring(0, slash);
    try {
      return switch (slash < 0 ? "" : target.substring(slash + 1)) {
        case "settle" ->
            settle(
                lease,
                fields(request.body(), "outcome", "failure", "tokens", "ttft_ms"),
                request.caller());
        case "renew" -> renew(lease, fields(request.body(), "ttl_ms", "answering"));
        case "confirm" -> confirm(lease);
        case "first-token" -> {
          fields(request.body());
          yield goesOn(choices.firstToken(lease), lease);
        }
        case "prefilled" ->
            prefilled(lease, fields(request.body(), "outcome", "failure"), request.caller());
        default ->
            Json.error(
                ProxyError.NOT_FOUND,
                request.path()
                    + ": no such path (expected: .../settle, /renew, /confirm, /first-token or"
                    + " /prefilled)");
      };
    } catch (IllegalArgumentException e) {
      return Refusal.malformed(String.valueOf(e.getMessage()));
    }
  }

  private LocalResponse settle(String lease, JsonNode body, Caller.Kind caller) {
    String outcome = word("outcome", body.path("outcome"), ENDINGS);
    boolean left = outcome.equals(LEFT);
    TokenCounts tokens = tokens(body.path("tokens"));
    Duration ttft = ttft(body.path("ttft_ms"));
    Outcome reported = ending(outcome, body);
    FailureEvidence leaving = caller == Caller.Kind.PLANE ? departures : openDepartures;
    boolean leftCounts = left && leaving.counts();
    EndReport report = new EndReport(tokens, ttft, leftCounts);
    Outcome counted = counted(reported, caller);
    LeaseResult answer = choices.settle(lease, counted, report);
    ended(answer, reported, counted, caller);
    if (answer.kind() == LeaseResult.Kind.DONE) {
      leaving.ended();
    } else if (leftCounts) {
      leaving.back();
    }
    ObjectNode done = Json.object().put("lease", lease).put("outcome", outcome);
    if (!counted.equals(reported) || left != leftCounts) {
      done.put("counted", false);
    }
    return result(answer, lease, done);
  }

  private LocalResponse prefilled(String lease, JsonNode body, Caller.Kind caller) {
    String outcome = word("outcome", body.path("outcome"), OUTCOMES);
    Outcome reported = ending(outcome, body);
    Outcome counted = counted(reported, caller);
    LeaseResult answer = choices.prefilled(lease, counted);
    ended(answer, reported, counted, caller);
    return goesOn(answer, lease);
  }

  /**
   * The outcome that counts. A failure is evidence against a worker only from a proxy with the
   * plane's key, and for no more than a share of its leases.
   */
  private Outcome counted(Outcome reported, Caller.Kind caller) {
    boolean counts =
        !(reported instanceof Outcome.Failed) || (caller == Caller.Kind.PLANE && evidence.counts());
    return counts ? reported : Outcome.IGNORED;
  }

  /**
   * Gives credit for a lease or stage that has ended now; a report about another changes nothing.
   */
  private void ended(LeaseResult answer, Outcome reported, Outcome counted, Caller.Kind caller) {
    if (caller == Caller.Kind.PLANE) {
      if (answer.kind() == LeaseResult.Kind.DONE) {
        evidence.ended();
      } else if (reported instanceof Outcome.Failed && counted.equals(reported)) {
        evidence.back();
      }
    }
  }

  private static Outcome ending(String outcome, JsonNode body) {
    return switch (outcome) {
      case "succeeded" -> Outcome.SUCCEEDED;
      case "failed" -> new Outcome.Failed(failure(body.path("failure")));
      case "refused" -> Outcome.REFUSED;
      default -> Outcome.IGNORED;
    };
  }

  private static Failure failure(JsonNode written) {
    return switch (written.isMissingNode() ? "error" : word("failure", written, FAILURES)) {
      case "connect" -> Failure.CONNECT;
      case "timeout" -> Failure.TIMEOUT;
      default -> Failure.ERROR;
    };
  }

  private static TokenCounts tokens(JsonNode written) {
    if (written.isMissingNode() || written.isNull()) {
      return TokenCounts.NONE;
    }
    known(written, "tokens", COUNTS);
    return new TokenCounts(
        whole("tokens.prompt", written.path("prompt"), 0, MOST_TOKENS),
        written.has("cached")
            ? whole("tokens.cached", written.path("cached"), 0, MOST_TOKENS)
            : TokenCounts.NOT_REPORTED,
        whole("tokens.completion", written.path("completion"), 0, MOST_TOKENS));
  }

  private static @Nullable Duration ttft(JsonNode written) {
    return written.isMissingNode() || written.isNull()
        ? null
        : Duration.ofMillis(whole("ttft_ms", written, 0, EndReport.LONGEST_TTFT.toMillis()));
  }

  /**
   * Renews a lease. A longer time than {@code decide.max-ttl} is reduced to it, as in a request for
   * a lease.
   */
  private LocalResponse renew(String lease, JsonNode body) {
    long most = choices.settings().maxTtl().toMillis();
    Duration ttl =
        body.has("ttl_ms")
            ? Duration.ofMillis(
                Math.min(whole("ttl_ms", body.path("ttl_ms"), 1, LONGEST_TTL_MILLIS), most))
            : choices.settings().standardTtl();
    return goesOn(choices.renew(lease, ttl, said("answering", body.path("answering"))), lease);
  }

  private LocalResponse confirm(String lease) {
    return goesOn(choices.confirm(lease), lease);
  }

  private static LocalResponse goesOn(LeaseResult answer, String lease) {
    ObjectNode body = Json.object().put("lease", lease);
    body.put("expires_in_ms", TimeUnit.NANOSECONDS.toMillis(answer.expiresInNanos()));
    return result(answer, lease, body);
  }

  private static LocalResponse result(LeaseResult answer, String lease, ObjectNode done) {
    return switch (answer.kind()) {
      case DONE -> Json.answer(200, done);
      case REPEATED ->
          Json.error(
              ProxyError.LEASE_SETTLED,
              "lease " + shown(lease) + ": already settled, confirmed or prefilled");
      case UNKNOWN ->
          Json.error(ProxyError.LEASE_NOT_FOUND, "lease " + shown(lease) + ": unknown or expired");
      case WORKER_LEFT ->
          Json.error(
              ProxyError.WORKER_LEFT,
              "lease " + shown(lease) + ": its worker has left; ask for a new decision");
      case NOT_SPLIT ->
          Json.error(
              ProxyError.LEASE_NOT_SPLIT,
              "lease " + shown(lease) + ": not split; it has no prefill worker to report");
    };
  }

  private static String shown(String lease) {
    return lease.length() <= 64 ? lease : lease.substring(0, 64) + "...";
  }

  /** The fields of the body; an empty body has none. */
  private static JsonNode fields(byte[] body, String... known) {
    JsonNode fields;
    try {
      fields = body.length == 0 ? Json.object() : Json.MAPPER.readTree(body);
    } catch (IOException e) {
      throw new IllegalArgumentException(Json.problem(e), e);
    }
    known(fields, "request body", List.of(known));
    return fields;
  }

  private static void known(JsonNode node, String what, List<String> names) {
    if (!node.isObject()) {
      throw new IllegalArgumentException(what + ": not an object (expected: a JSON object)");
    }
    node.fieldNames()
        .forEachRemaining(
            name -> {
              if (!names.contains(name)) {
                throw new IllegalArgumentException(
                    name + ": unknown field" + Nearest.hint(name, names));
              }
            });
  }

  private static String word(String field, JsonNode written, List<String> words) {
    String word = written.asText("");
    if (!written.isTextual() || !words.contains(word)) {
      throw new IllegalArgumentException(
          field
              + ": "
              + (written.isMissingNode() ? "missing" : shown(written.toString()))
              + " (expected: one of "
              + String.join(", ", words)
              + ")");
    }
    return word;
  }

  private static boolean said(String field, JsonNode written) {
    if (!written.isMissingNode() && !written.isBoolean()) {
      throw new IllegalArgumentException(
          field + ": " + shown(written.toString()) + " (expected: true or false)");
    }
    return written.asBoolean();
  }

  private static long whole(String field, JsonNode written, long least, long most) {
    if (written.isMissingNode() && least == 0) {
      return 0;
    }
    if (!written.isIntegralNumber()
        || !written.canConvertToLong()
        || written.longValue() < least
        || written.longValue() > most) {
      throw new IllegalArgumentException(
          field
              + ": "
              + shown(written.toString())
              + " (expected: a whole number from "
              + least
              + " to "
              + most
              + ")");
    }
    return written.longValue();
  }
}
