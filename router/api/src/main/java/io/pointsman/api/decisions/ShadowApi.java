package io.pointsman.api.decisions;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.shadow.ShadowReport;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.ProxyError;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** {@code GET /shadow}: compares the shadow policy with the active one. */
public final class ShadowApi {
  /** Name for no shadow policy. */
  public static final String NONE = RoutingKeys.NO_SHADOW;

  private final Supplier<@Nullable Comparison> comparisons;

  /**
   * A comparison of two policies.
   *
   * @param active name of the active policy
   * @param shadow name of the shadow policy
   */
  public record Comparison(String active, String shadow, ShadowReport report) {}

  /**
   * @param comparisons the newest results; null while there is no shadow policy
   */
  public ShadowApi(Supplier<@Nullable Comparison> comparisons) {
    this.comparisons = comparisons;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/shadow", _ -> report());
  }

  private LocalResponse report() {
    Comparison compared = comparisons.get();
    if (compared == null) {
      return Json.error(ProxyError.NOT_FOUND, "shadow-policy: none (expected: a policy)");
    }
    ShadowReport report = compared.report;
    ObjectNode body = Json.object();
    side(body.putObject("active"), compared.active, report.acting());
    side(body.putObject("shadow"), compared.shadow, report.shadow());
    body.put("agreed", report.agreed());
    body.put("refused", report.refused());
    body.put("dropped", report.dropped());
    body.put("failures", report.failures());
    return Json.answer(200, body);
  }

  private static void side(ObjectNode node, String policy, ShadowReport.Side side) {
    node.put("policy", policy);
    node.put("requests", side.placed());
    node.put("prompt_tokens", side.promptTokens());
    node.put("expected_hit", share((double) side.cachedTokens(), side.promptTokens()));
    node.put("expected_ttft_ms", share(side.ttftMillis(), side.placed()));
    node.put("imbalance", Math.round(side.imbalance() * 1000) / 1000.0);
  }

  private static double share(double part, long whole) {
    return whole == 0 ? 0 : Math.round(part / (double) whole * 10_000) / 10_000.0;
  }
}
