package io.pointsman.request;

import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.WantedFields;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.request.coding.BodyCoding;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Reader of requests. It reads {@link RequestFacts} in one pass over the bytes. Never throws on
 * invalid bytes. It keeps at most a few MiB of scratch memory between requests. Not thread-safe:
 * use one reader per thread.
 */
public final class RequestReader {
  /** Ray Serve's header for a model that a worker loads on demand, as {@code base:adapter}. */
  public static final String MULTIPLEXED = "serve_multiplexed_model_id";

  /** Headers without {@link #MULTIPLEXED}: the body alone names the model. */
  private record BodyNamesModel(RequestHeaders all) implements RequestHeaders {
    @Override
    public @Nullable String first(String lowerCaseName) {
      return lowerCaseName.equals(MULTIPLEXED) ? null : all.first(lowerCaseName);
    }

    @Override
    public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {
      all.forEach(each);
    }
  }

  /**
   * The headers of a request that must name a permitted model. A header cannot name it, because the
   * engine may read another one in the body.
   */
  public static RequestHeaders withoutModel(RequestHeaders headers) {
    return new BodyNamesModel(headers);
  }

  /**
   * True if each value of {@link #MULTIPLEXED} is a permitted model, or there is none. Some engines
   * follow this header instead of the body.
   */
  public static boolean namesOnly(RequestHeaders headers, Predicate<String> permitted) {
    boolean[] only = {true};
    headers.forEach(
        (name, value) ->
            only[0] &=
                !MULTIPLEXED.equalsIgnoreCase(name.toString()) || permitted.test(value.toString()));
    return only[0];
  }

  private final HeaderIdentity headerIdentity;
  private final BodyReader json;
  private final FormReader form = new FormReader();

  /** Null if no policy requests fields. */
  private final @Nullable FieldReader fields;

  /** A reader without fields for policies. */
  public RequestReader(AffinitySettings settings) {
    this(settings, WantedFields.NONE);
  }

  /**
   * @param wanted headers and body members that policies request
   */
  public RequestReader(AffinitySettings settings, WantedFields wanted) {
    fields = wanted.isEmpty() ? null : new FieldReader(wanted);
    headerIdentity = new HeaderIdentity(settings);
    json = new BodyReader(settings.sessionField());
  }

  /**
   * Reads one request.
   *
   * @param headers headers as the client sent them; an id that the router generated must not be
   *     among them, because it would count as the client's
   * @param body array that contains the body; neither changed nor kept
   * @param offset index of the body's first byte
   * @param length number of body bytes in the array
   * @param truncated true if the body continues after these bytes
   */
  public RequestFacts read(
      Endpoint endpoint,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    RequestFacts facts = facts(endpoint, headers, body, offset, length, truncated);
    return fields == null
        ? facts
        : facts.with(fields.read(facts, headers, body, offset, length, truncated));
  }

  private RequestFacts facts(
      Endpoint endpoint,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    headerIdentity.read(headers);
    AffinityKey session = headerIdentity.session();
    AffinityKey request = headerIdentity.request();
    headerIdentity.release();
    String contentType = headers.first("content-type");
    String named = headers.first(MULTIPLEXED);
    if (length == 0 && !truncated) {
      return bodyless(endpoint, BodyVerdict.EMPTY, first(session, request));
    }
    if (!endpoint.readsBody()) {
      return bodyless(endpoint, BodyVerdict.OPAQUE, first(session, request));
    }
    if (BodyCoding.of(headers).present()) {
      String model = multiplexed(null, named);
      return unread(endpoint, BodyVerdict.OPAQUE, model, first(session, request));
    }
    if (!endpoint.jsonBody() && contentType != null && FormReader.reads(contentType)) {
      form.read(contentType, body, offset, length);
      return formFacts(endpoint, truncated, named, first(session, request));
    }
    BodyVerdict verdict = json.read(endpoint.keyFields(), body, offset, length, truncated);
    AffinityKey owner = session == null ? json.identity() : session;
    String model = multiplexed(json.model(), named);
    RequestFacts facts = jsonFacts(endpoint, verdict, model, first(owner, request));
    json.release();
    return facts;
  }

  private RequestFacts jsonFacts(
      Endpoint endpoint,
      BodyVerdict verdict,
      @Nullable String model,
      @Nullable AffinityKey affinity) {
    return new RequestFacts(
        endpoint,
        verdict,
        model,
        json.stream(),
        json.prefix(),
        affinity,
        json.responseId(),
        json.background(),
        json.modelSpan(),
        json.streamSpan(),
        RequestFields.NONE);
  }

  private RequestFacts formFacts(
      Endpoint endpoint,
      boolean truncated,
      @Nullable String named,
      @Nullable AffinityKey affinity) {
    return new RequestFacts(
        endpoint,
        truncated ? BodyVerdict.TRUNCATED : BodyVerdict.FORM,
        multiplexed(form.model(), named),
        form.stream(),
        PrefixBlocks.NONE,
        affinity,
        null,
        false,
        Span.NONE,
        Span.NONE,
        RequestFields.NONE);
  }

  /**
   * The model of the request. The header can refine the body's model to {@code model:adapter}.
   * Without a model in the body the header names the model.
   */
  private static @Nullable String multiplexed(@Nullable String model, @Nullable String header) {
    boolean refines =
        header != null && !header.isBlank() && (model == null || header.startsWith(model + ":"));
    return refines ? header : model;
  }

  private static RequestFacts bodyless(
      Endpoint endpoint, BodyVerdict verdict, @Nullable AffinityKey affinity) {
    return unread(endpoint, verdict, null, affinity);
  }

  private static RequestFacts unread(
      Endpoint endpoint,
      BodyVerdict verdict,
      @Nullable String model,
      @Nullable AffinityKey affinity) {
    return new RequestFacts(
        endpoint,
        verdict,
        model,
        false,
        PrefixBlocks.NONE,
        affinity,
        null,
        false,
        Span.NONE,
        Span.NONE,
        RequestFields.NONE);
  }

  private static @Nullable AffinityKey first(
      @Nullable AffinityKey preferred, @Nullable AffinityKey other) {
    return preferred == null ? other : preferred;
  }
}
