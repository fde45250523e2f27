package io.pointsman.api.decisions;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.api.admin.QueryNames;
import io.pointsman.api.page.OperatorPage;
import io.pointsman.config.settings.DecisionSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.observe.decisions.DecisionLog;
import io.pointsman.observe.decisions.Explained;
import io.pointsman.observe.decisions.LoggedDecision;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.ProxyError;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /decisions}: the most recent explained decisions and their outcomes. The response is
 * JSON. Browsers are led to the operator's page.
 */
public final class DecisionsApi {
  private static final int USUAL = 20;

  private final DecisionLog log;
  private final BiFunction<Role, @Nullable String, String> policies;

  /**
   * @param policies configured name of the policy for a role and a model
   */
  public DecisionsApi(DecisionLog log, BiFunction<Role, @Nullable String, String> policies) {
    this.log = log;
    this.policies = policies;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/decisions", this::answer).page("/decisions");
  }

  private LocalResponse answer(LocalRequest request) {
    return OperatorPage.wanted(request) ? OperatorPage.redirect() : decisions(request);
  }

  private LocalResponse decisions(LocalRequest request) {
    String unknown = QueryNames.problem(request, List.of("limit", "search"));
    if (unknown != null) {
      return Json.error(ProxyError.INVALID_PARAMETER, unknown);
    }
    String limit = request.parameter("limit");
    int most = limit == null ? USUAL : whole(limit);
    if (most < 1) {
      return Json.error(
          ProxyError.INVALID_PARAMETER,
          "limit: invalid (expected: 1 to " + DecisionSettings.MOST_KEPT + ")");
    }
    ObjectNode body = Json.object();
    body.put("sample", log.settings().sample());
    body.put("keep", log.settings().keep());
    ArrayNode all = body.putArray("decisions");
    long now = log.now();
    String search = request.parameter("search");
    for (LoggedDecision decision : log.newest(most, search == null ? "" : search)) {
      add(all.addObject(), decision, now);
    }
    return Json.answer(200, body).withHeader("vary", "accept");
  }

  /** The number; 0 if the text is not a valid limit. */
  private static int whole(String text) {
    boolean digits = text.length() <= 5 && !text.isEmpty();
    for (int i = 0; i < text.length(); i++) {
      digits &= text.charAt(i) >= '0' && text.charAt(i) <= '9';
    }
    int value = digits ? Integer.parseInt(text) : 0;
    return value <= DecisionSettings.MOST_KEPT ? value : 0;
  }

  private void add(ObjectNode node, LoggedDecision decision, long now) {
    node.put("number", decision.number);
    node.put("age_ms", (now - decision.placedAt) / 1_000_000);
    node.put("request_id", decision.requestId);
    node.put("session", decision.session);
    node.put("role", Explained.name(decision.role));
    node.put("model", decision.model);
    node.put("policy", policies.apply(decision.role, decision.model));
    node.put("reason", Explained.name(decision.reason));
    node.put("worker", decision.worker);
    ObjectNode expected = node.putObject("expected");
    expected.put("prompt_tokens", decision.expected().prompt());
    expected.put("cached_tokens", decision.expected().cached());
    Explained.millis(expected, "ttft_ms", decision.predictedMillis);
    measured(node.putObject("measured"), decision);
    Explained.candidates(node, decision.candidates);
  }

  private static void measured(ObjectNode node, LoggedDecision decision) {
    Explained.millis(node, "ttft_ms", decision.firstTokenMillis());
    LoggedDecision.DecisionEnding ending = decision.ending();
    if (ending == null) {
      return;
    }
    node.put("outcome", ending.outcome());
    Explained.millis(node, "e2e_ms", ending.millis());
    Usage usage = ending.usage();
    tokens(node, "prompt_tokens", usage.promptTokens());
    tokens(node, "cached_tokens", usage.cachedTokens());
    tokens(node, "completion_tokens", usage.completionTokens());
    Explained.losses(node, ending.losses());
  }

  private static void tokens(ObjectNode node, String field, int tokens) {
    if (tokens >= 0) {
      node.put(field, tokens);
    }
  }
}
