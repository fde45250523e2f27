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
 * What one request asks for, as far as routing cares. Immutable; keeps nothing of the body's bytes.
 *
 * @param endpoint the route it came by
 * @param body what the body turned out to be
 * @param model the model it names; null if none
 * @param stream whether it asks for a streamed answer
 * @param prefix the routing key; its {@code tokens} is the prompt's size: exact for token ids, else
 *     bytes / 4, at least 1 if there is a prompt
 * @param affinity whom it belongs to; null if it does not say
 * @param responseId the stored response it builds on, from the body's {@code previous_response_id}:
 *     the worker that made that one can serve it; null if none
 * @param modelSpan where the value of {@code model} stands in a JSON body
 * @param streamSpan where the value of {@code stream} stands in a JSON body
 * @param fields headers and members of the body that policies asked for
 */
public record RequestFacts(
    Endpoint endpoint,
    BodyVerdict body,
    @Nullable String model,
    boolean stream,
    PrefixBlocks prefix,
    @Nullable AffinityKey affinity,
    @Nullable String responseId,
    Span modelSpan,
    Span streamSpan,
    RequestFields fields) {

  /** Models that a refusal names; fleets may have hundreds, and planes hold answers in a buffer. */
  private static final int MOST_TOLD = 20;

  /** Said of a body that was not cut. */
  public static final int WHOLE = -1;

  /**
   * Why the request must be answered with 400 instead of being forwarded; null if it need not. Only
   * typed routes with a JSON body are ever refused: others may carry anything.
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
   * Why the request must be answered with 400 for want of a model; null if it need not. Routes that
   * are not typed may carry anything.
   *
   * @param models those of which one must be named, in the order in which the first of them are
   *     told; none if any worker will do
   * @param cutAfter how many bytes of the body were read; {@link #WHOLE} if that was all of it
   */
  public @Nullable String unnamed(Set<String> models, int cutAfter) {
    boolean named = model != null && body.kind() != BodyVerdict.Kind.MALFORMED;
    boolean names = endpoint.jsonBody() || endpoint.formBody();
    if (named || !names || models.isEmpty()) {
      return null;
    }
    String said = modelSpan.present() ? "not a string" : "missing";
    String where = "";
    if (cutAfter != WHOLE && !modelSpan.present()) {
      said = "not in the first " + cutAfter + " bytes of the body";
      where = ", there or in the header " + RequestReader.MULTIPLEXED;
    }
    return "model: " + said + " (expected: one of " + some(models) + where + ")";
  }

  private static String some(Set<String> models) {
    String told = models.stream().limit(MOST_TOLD).collect(Collectors.joining(", "));
    int others = models.size() - MOST_TOLD;
    return others > 0 ? told + " and " + others + " others" : told;
  }

  /** The same of a request that came by this path, if policies asked for its fields. */
  public RequestFacts at(String path) {
    return fields.asked() ? with(fields.at(path)) : this;
  }

  RequestFacts with(RequestFields read) {
    return new RequestFacts(
        endpoint, body, model, stream, prefix, affinity, responseId, modelSpan, streamSpan, read);
  }

  /** Whether a body that was cut may name its model behind the cut, where one can be read. */
  public boolean mayNameFurther() {
    return body.kind() == BodyVerdict.Kind.TRUNCATED && !modelSpan.present();
  }

  /** The question to the engine, for any worker. */
  public RoutingRequest toRoutingRequest(Role role) {
    return toRoutingRequest(role, null);
  }

  /**
   * The question to the engine.
   *
   * @param pinnedWorker id of the only worker that can serve it; null if any can
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
