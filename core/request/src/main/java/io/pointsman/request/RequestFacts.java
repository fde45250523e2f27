package io.pointsman.request;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The facts of one request that routing needs. Immutable; holds no bytes of the body.
 *
 * @param endpoint route of the request
 * @param body kind and validity of the body
 * @param model model that the request names; null if none
 * @param stream true if the client wants a streamed answer
 * @param prefix routing key; its {@code tokens} is the size of the prompt: exact for token ids,
 *     else bytes / 4, at least 1 if there is a prompt
 * @param affinity session, owner or id of the request; null if none
 * @param responseId stored response to continue, from the body's {@code previous_response_id}; the
 *     worker that made it can serve the request; null if none
 * @param background true if the response comes before the work, as the body's {@code background}
 *     says; only the Responses API has that
 * @param modelSpan position of the value of {@code model} in a JSON body
 * @param streamSpan position of the value of {@code stream} in a JSON body
 * @param fields headers and body members that policies request
 */
public record RequestFacts(
    Endpoint endpoint,
    BodyVerdict body,
    @Nullable String model,
    boolean stream,
    PrefixBlocks prefix,
    @Nullable AffinityKey affinity,
    @Nullable String responseId,
    boolean background,
    Span modelSpan,
    Span streamSpan,
    RequestFields fields) {

  /**
   * Maximum number of models in an error message. A fleet may have hundreds, and a proxy holds the
   * message in a buffer.
   */
  private static final int MOST_LISTED = 20;

  /** Value of {@code cutAfter} for a body that was read completely. */
  public static final int WHOLE = -1;

  /**
   * Reason to answer with status 400 instead of forwarding; null if the request is valid. Only JSON
   * bodies on typed routes are refused. Transparent routes may carry any body.
   */
  public @Nullable String refusal() {
    if (!endpoint.jsonBody()) {
      return null;
    }
    return switch (body.kind()) {
      case OBJECT, TRUNCATED, OPAQUE, FORM -> null;
      case EMPTY -> "request body: empty (expected: a JSON object)";
      case NOT_OBJECT -> "request body: " + body.reason() + " (expected: a JSON object)";
      case MALFORMED ->
          "request body: "
              + body.reason()
              + " at byte "
              + body.position()
              + " (expected: valid JSON)";
    };
  }

  /**
   * Reason to answer with status 400 because the request names no model; null if it is valid.
   * Transparent routes may carry any body.
   *
   * @param models models of the fleet; the message lists the first 20. Empty if the request needs
   *     no model
   * @param cutAfter number of body bytes that were read; {@link #WHOLE} if all were read
   */
  public @Nullable String unnamed(Set<String> models, int cutAfter) {
    boolean named = model != null && body.kind() != BodyVerdict.Kind.MALFORMED;
    boolean inQuery = endpoint == Endpoint.REALTIME;
    boolean names = endpoint.jsonBody() || endpoint.formBody() || inQuery;
    if (named || !names || models.isEmpty()) {
      return null;
    }
    String problem = modelSpan.present() ? "not a string" : "missing";
    String where = inQuery ? ", in the query" : "";
    if (cutAfter != WHOLE && !modelSpan.present()) {
      problem = "not in the first " + cutAfter + " bytes of the body";
      where = ", there or in the header " + RequestReader.MULTIPLEXED;
    }
    return "model: " + problem + " (expected: one of " + some(models) + where + ")";
  }

  private static String some(Set<String> models) {
    String listed = models.stream().limit(MOST_LISTED).collect(Collectors.joining(", "));
    int others = models.size() - MOST_LISTED;
    return others > 0 ? listed + " and " + others + " others" : listed;
  }

  /**
   * These facts with those of the request target: the path, if policies request fields, and the
   * model of a route that has it in its query.
   *
   * @param target path, with the query string if there is one
   */
  public RequestFacts at(String target) {
    RequestFacts facts = endpoint == Endpoint.REALTIME ? of(QueryModel.of(target)) : this;
    return fields.asked() ? facts.with(fields.at(target)) : facts;
  }

  /**
   * The target with another model, for a route that has the model in its query.
   *
   * @param target path and query string, which contains a model
   * @param next the model
   */
  public static String withModel(String target, String next) {
    return QueryModel.renamed(target, next);
  }

  private RequestFacts of(QueryModel query) {
    String named = query.model() == null ? model : query.model();
    return with(body.naming(query.further()), named, fields);
  }

  RequestFacts with(RequestFields read) {
    return with(body, model, read);
  }

  private RequestFacts with(BodyVerdict verdict, @Nullable String named, RequestFields read) {
    return new RequestFacts(
        endpoint,
        verdict,
        named,
        stream,
        prefix,
        affinity,
        responseId,
        background,
        modelSpan,
        streamSpan,
        read);
  }

  /** True if the body was cut and the unread rest may name the model. */
  public boolean mayNameFurther() {
    return body.kind() == BodyVerdict.Kind.TRUNCATED && !modelSpan.present();
  }

  /** The request to the engine; any worker can serve it. */
  public RoutingRequest toRoutingRequest(Role role) {
    return toRoutingRequest(role, null);
  }

  /**
   * The request to the engine.
   *
   * @param pinnedWorker id of the only worker that can serve the request; null if any worker can
   */
  public RoutingRequest toRoutingRequest(Role role, @Nullable String pinnedWorker) {
    return RoutingRequest.builder()
        .model(model)
        .role(role)
        .prefix(prefix)
        .affinity(affinity)
        .pinnedWorker(pinnedWorker)
        .stream(stream)
        .fields(fields)
        .build();
  }
}
