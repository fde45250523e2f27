package io.pointsman.api.decide;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.Decision;
import io.pointsman.engine.Preview;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Alternatives;
import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.LeaseTerms;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Candidate;
import io.pointsman.engine.policy.PickExplanation;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.observe.decisions.Explained;
import io.pointsman.pd.choice.SplitChoice;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.reader.Readers;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * {@code POST /v1/decide}: chooses a worker for a request of an external proxy and explains the
 * choice.
 */
public final class DecideApi implements LocalEndpoint {
  private final DecisionService service;
  private final RoutingEngine engine;
  private final Choices choices;
  private final Alternatives alternatives;
  private final Readers readers;
  private final Function<RoutingRequest, String> policies;
  private final Ticker ticker;

  /**
   * @param policies configured name of the policy for a request, for explanations
   */
  public DecideApi(DecisionService service, Function<RoutingRequest, String> policies) {
    this.service = service;
    engine = service.engine();
    choices = service.choices();
    readers = service.readers();
    ticker = service.ticker();
    alternatives = new Alternatives(engine, ticker, service.random());
    this.policies = policies;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("POST", "/v1/decide", this).forPlanes("POST", "/v1/decide");
  }

  /** Unlimited here, because the body contains the client's prompt. */
  @Override
  public int mostBytes() {
    return Integer.MAX_VALUE;
  }

  @Override
  public LocalResponse handle(LocalRequest request) {
    DecideQuestion question;
    try {
      question = DecideQuestion.parse(request.body(), choices.settings());
    } catch (IllegalArgumentException e) {
      return Refusal.malformed(String.valueOf(e.getMessage()));
    }
    RequestFacts facts = facts(question);
    String refusal = facts.refusal();
    if (refusal == null) {
      int cutAfter = question.truncated ? question.length : RequestFacts.WHOLE;
      refusal = facts.unnamed(engine.modelsToName(), cutAfter);
    }
    if (refusal != null) {
      return Refusal.malformed(refusal.replaceFirst("^request body", "body"));
    }
    SplitPlacements split = service.split();
    if (split != null) {
      return ofTwo(split.choose(question, facts, DecisionService.owner(request)), question, facts);
    }
    RoutingRequest routing = routing(question, facts);
    if (question.dryRun) {
      return ofOne(previewed(routing), routing, question, facts, Json.object());
    }
    LeaseTerms terms = question.terms(DecisionService.owner(request));
    Choice choice = terms == null ? choices.point(routing) : choices.choose(routing, terms);
    return ofOne(choice, routing, question, facts, Json.object());
  }

  private Choice previewed(RoutingRequest routing) {
    return switch (engine.explain(routing)) {
      case Preview.Chosen(Worker worker) -> new Choice.Pointed(worker);
      case Preview.Refused(Decision.Rejected rejection) -> new Choice.Refused(rejection);
    };
  }

  /**
   * @param body receives the fields of the response
   */
  private LocalResponse ofOne(
      Choice choice,
      RoutingRequest routing,
      DecideQuestion question,
      RequestFacts facts,
      ObjectNode body) {
    return switch (choice) {
      case Choice.Leased(Worker worker, String lease, long expiresInNanos) -> {
        addLease(body, lease, expiresInNanos);
        yield chosen(body, worker, routing, facts, question);
      }
      case Choice.Pointed(Worker worker) -> chosen(body, worker, routing, facts, question);
      case Choice.Refused(var rejection) ->
          Refusal.of(rejection, facts.model(), service.busyStatus(facts.model()));
      case Choice.TooManyLeases(long retryAfterNanos) ->
          Refusal.tooManyLeases(choices.settings().maxLeases(), retryAfterNanos);
      case Choice.IdTaken taken -> Refusal.of(taken);
    };
  }

  private static void addLease(ObjectNode body, String lease, long expiresInNanos) {
    body.put("lease", lease);
    body.put("expires_in_ms", TimeUnit.NANOSECONDS.toMillis(expiresInNanos));
  }

  /**
   * Answers for a fleet of prefill and decode workers. The response of {@code worker} goes to the
   * client.
   */
  private LocalResponse ofTwo(
      SplitPlacements.Placed placed, DecideQuestion question, RequestFacts facts) {
    ObjectNode body = Json.object();
    switch (placed.choice()) {
      case SplitChoice.One one -> {
        if (one.rule() != null) {
          body.put("split", SplitPlacements.name(one));
        }
        return ofOne(one.choice(), one.asked(), question, facts, body);
      }
      case SplitChoice.Two(Worker prefill, Worker decode, PdPlan plan, var lease, long expires) -> {
        if (lease != null) {
          addLease(body, lease, expires);
        }
        body.put("split", "split");
        body.set("prefill", named(prefill));
        body.set("decode", named(decode));
        body.set("plan", PlanJson.of(placed.protocol(), plan, decode));
        if (question.dryRun) {
          explain(body.putObject("prefill_explanation"), prefill, placed.request().prefill());
        }
        return chosen(body, decode, placed.request().decode(), facts, question);
      }
    }
  }

  private RequestFacts facts(DecideQuestion question) {
    return readers
        .readDecoded( // a body in JSON is text
            Endpoint.of(question.method, question.path),
            new ListedHeaders(question.headers),
            question.body,
            question.from,
            question.length,
            question.truncated)
        .at(question.path);
  }

  private RoutingRequest routing(DecideQuestion question, RequestFacts facts) {
    RoutingRequest routing =
        RoutingRequest.builder()
            .model(facts.model())
            .role(service.roleOfWhole(facts.model()))
            .prefix(facts.prefix())
            .affinity(facts.affinity())
            .fields(facts.fields())
            .explained(question.explain)
            .build();
    routing.named(new ListedHeaders(question.headers).first("x-request-id"));
    question.excluded(engine.fleet().snapshot()).forEach(routing::exclude);
    return routing;
  }

  private LocalResponse chosen(
      ObjectNode body,
      Worker worker,
      RoutingRequest routing,
      RequestFacts facts,
      DecideQuestion question) {
    if (question.dryRun) {
      body.put("dry_run", true);
    } else if (!question.truncated) {
      String authorization = new ListedHeaders(question.headers).first("authorization");
      service.sent(facts, worker, authorization, question.body, question.from, question.length);
    }
    body.set("worker", named(worker));
    ArrayNode others = body.putArray("alternatives");
    for (Worker other : alternatives.of(routing, worker, question.alternatives)) {
      others.add(named(other).put("score", score(other)));
    }
    explain(body.putObject("explanation"), worker, routing);
    return Json.answer(200, body);
  }

  /** Idleness of a worker: 1 with no request in flight, less with each request. */
  private static double score(Worker worker) {
    return 1.0 / (1 + worker.inFlight());
  }

  private static ObjectNode named(Worker worker) {
    WorkerSpec spec = worker.spec();
    ObjectNode node = Json.object();
    node.put("id", spec.id());
    node.put("url", spec.base());
    if (spec.rank() != WorkerSpec.NO_RANK) {
      node.put("rank", spec.rank());
    }
    return node;
  }

  private void explain(ObjectNode node, Worker worker, RoutingRequest routing) {
    PrefixBlocks prefix = routing.prefix();
    int matched = routing.result().matchedBlocks();
    node.put("policy", policies.apply(routing));
    node.put("reason", routing.result().reason().name().toLowerCase(Locale.ROOT));
    node.put("model", routing.model());
    node.put("affinity", routing.affinity() == null ? null : routing.affinity().source());
    node.put("prompt_blocks", prefix.count());
    node.put("matched_blocks", matched);
    PickExplanation explanation = routing.explanation();
    List<Candidate> candidates = explanation == null ? List.of() : explanation.candidates();
    Candidate chosen = Explained.chosen(candidates);
    int cached =
        chosen == null ? (int) (prefix.tokens() * prefix.ratio(matched)) : chosen.cachedTokens();
    node.put("prompt_tokens", chosen == null ? prefix.tokens() : cached + chosen.uncachedTokens());
    node.put("cached_tokens", cached);
    Explained.millis(node, "predicted_ttft_ms", routing.result().predictedMillis());
    ObjectNode loads = node.putObject("loads");
    loads.put("chosen", worker.inFlight());
    Pool pool = engine.pool(routing.role(), routing.model());
    LoadRange range = pool == null ? null : pool.loadRange(ticker.nanos(), routing.tried());
    if (range != null) {
      loads.put("least", range.least());
      loads.put("most", range.most());
    }
    if (routing.explained()) {
      Explained.candidates(node, candidates);
    }
  }
}
