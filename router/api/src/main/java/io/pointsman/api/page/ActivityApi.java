package io.pointsman.api.page;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.observe.activity.Figures;
import io.pointsman.observe.activity.FleetActivity;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * {@code GET /activity}: figures of the last minute, of the fleet and of each worker. {@code GET
 * /activity/hour}: points of the last hour, one for ten seconds.
 */
public final class ActivityApi {
  private final Fleet fleet;
  private final FleetActivity activity;
  private final Supplier<List<CacheMissAttribution>> misses;
  private final IntSupplier waiting;
  private final Parts parts;

  /**
   * The parts of the router that the page shows.
   *
   * @param policy name of the policy; may change
   * @param shadow name of the shadow policy; null if there is none; may change
   * @param decides true if the decision service is on
   */
  public record Parts(
      Supplier<String> policy, Supplier<@Nullable String> shadow, boolean decides) {}

  /**
   * @param misses cache misses of the policies that predict; empty without such a policy
   * @param waiting number of requests that wait for admission or a worker
   */
  public ActivityApi(
      Fleet fleet,
      FleetActivity activity,
      Supplier<List<CacheMissAttribution>> misses,
      IntSupplier waiting,
      Parts parts) {
    this.fleet = fleet;
    this.activity = activity;
    this.misses = misses;
    this.waiting = waiting;
    this.parts = parts;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/activity", _ -> recent());
    routes.on("GET", "/activity/hour", _ -> hour());
  }

  private LocalResponse recent() {
    Figures all = activity.recent();
    ObjectNode body = Json.object();
    body.put("policy", parts.policy.get());
    body.put("shadow_policy", parts.shadow.get());
    body.put("decides", parts.decides);
    body.put("seconds", rounded(all.seconds()));
    body.put("waiting", waiting.getAsInt());
    body.put("requests_per_second", rounded(all.perSecond(all.ended())));
    body.put("errors_per_second", rounded(all.perSecond(all.errors())));
    figures(body, all, all);
    List<Worker> workers = fleet.snapshot().workers();
    Map<Worker, Figures> each = new HashMap<>();
    Map<Role, Long> placed = new EnumMap<>(Role.class);
    int inFlight = 0;
    for (Worker worker : workers) {
      Figures own = activity.recent(worker);
      each.put(worker, own);
      placed.merge(worker.spec().role(), own.placed(), Long::sum);
      inFlight += worker.inFlight();
    }
    body.put("in_flight", inFlight);
    ArrayNode list = body.putArray("workers");
    for (Worker worker : workers) {
      Figures own = each.getOrDefault(worker, all);
      long ofRole = placed.getOrDefault(worker.spec().role(), 0L);
      ObjectNode node = list.addObject();
      node.put("id", worker.id());
      node.put("requests", own.placed());
      number(node, "share", ofRole == 0 ? Double.NaN : (double) own.placed() / ofRole);
      figures(node, own, all);
    }
    lost(body);
    return Json.answer(200, body);
  }

  /** The figures, over the time of {@code all}: a worker's time begins with its first request. */
  private static void figures(ObjectNode node, Figures own, Figures all) {
    node.put("tokens_per_second", rounded(all.perSecond(own.tokens())));
    number(node, "predicted_hits", own.predictedHits());
    number(node, "reported_hits", own.reportedHits());
    number(node, "ttft_p50_ms", own.firstTokenP50());
    number(node, "ttft_p99_ms", own.firstTokenP99());
  }

  /** Adds the lost tokens since the start, for policies that predict. */
  private void lost(ObjectNode body) {
    List<CacheMissAttribution> sums = misses.get();
    if (sums.isEmpty()) {
      return;
    }
    body.put("prompt_tokens", sums.stream().mapToLong(CacheMissAttribution::promptTokens).sum());
    body.put("cached_tokens", sums.stream().mapToLong(CacheMissAttribution::cachedTokens).sum());
    ObjectNode lost = body.putObject("lost_tokens");
    for (CacheMiss reason : CacheMiss.values()) {
      lost.put(
          reason.name().toLowerCase(Locale.ROOT),
          sums.stream().mapToLong(each -> each.tokens(reason)).sum());
    }
  }

  private LocalResponse hour() {
    ObjectNode body = Json.object();
    body.put("step_ms", FleetActivity.STEP.toMillis());
    ArrayNode points = body.putArray("points");
    long now = activity.now();
    for (FleetActivity.Point point : activity.hour()) {
      Figures figures = point.figures();
      ObjectNode node = points.addObject();
      node.put("age_ms", (now - point.at()) / 1_000_000);
      node.put("requests_per_second", rounded(figures.perSecond(figures.ended())));
      node.put("errors_per_second", rounded(figures.perSecond(figures.errors())));
      node.put("tokens_per_second", rounded(figures.perSecond(figures.tokens())));
      node.put("in_flight", point.inFlight());
      number(node, "ttft_p50_ms", figures.firstTokenP50());
      number(node, "ttft_p99_ms", figures.firstTokenP99());
    }
    return Json.answer(200, body);
  }

  /** Adds a number; nothing for NaN. */
  private static void number(ObjectNode node, String field, double value) {
    if (!Double.isNaN(value)) {
      node.put(field, rounded(value));
    }
  }

  private static double rounded(double value) {
    return Math.round(value * 1000) / 1000.0;
  }
}
