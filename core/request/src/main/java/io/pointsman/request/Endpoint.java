package io.pointsman.request;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Known route of the HTTP API. Any other route is {@link #TRANSPARENT}: its requests are forwarded
 * in the same way, and known body fields still count.
 */
public enum Endpoint {
  CHAT_COMPLETIONS(Body.JSON, KeyFields.CHAT),
  COMPLETIONS(Body.JSON, KeyFields.COMPLETIONS),
  RESPONSES(Body.JSON, KeyFields.RESPONSES, Responses.CREATED),
  RESPONSE_GET(Body.NONE, KeyFields.NONE, Responses.IN_PATH),
  RESPONSE_DELETE(Body.NONE, KeyFields.NONE, Responses.IN_PATH),
  RESPONSE_CANCEL(Body.NONE, KeyFields.NONE, Responses.IN_PATH),
  RESPONSE_INPUT_ITEMS(Body.NONE, KeyFields.NONE, Responses.IN_PATH),
  EMBEDDINGS(Body.JSON, KeyFields.INPUTS),
  RERANK(Body.JSON, KeyFields.PAIRS),
  SCORE(Body.JSON, KeyFields.PAIRS),
  POOLING(Body.JSON, KeyFields.INPUTS),
  CLASSIFY(Body.JSON, KeyFields.INPUTS),
  GENERATE(Body.JSON, KeyFields.GENERATE),
  TOKEN_GENERATE(Body.JSON, KeyFields.GENERATE),
  TOKENIZE(Body.JSON, KeyFields.NONE),
  DETOKENIZE(Body.JSON, KeyFields.NONE),
  MESSAGES(Body.JSON, KeyFields.CHAT),
  MESSAGES_COUNT_TOKENS(Body.JSON, KeyFields.NONE),
  AUDIO_TRANSCRIPTIONS(Body.FORM, KeyFields.NONE),
  AUDIO_TRANSLATIONS(Body.FORM, KeyFields.NONE),
  AUDIO_SPEECH(Body.JSON, KeyFields.INPUTS),
  IMAGES_GENERATIONS(Body.JSON, KeyFields.COMPLETIONS),
  IMAGES_EDITS(Body.FORM, KeyFields.NONE),
  IMAGES_VARIATIONS(Body.FORM, KeyFields.NONE),
  REALTIME(Body.NONE, KeyFields.NONE),
  TRANSPARENT(Body.ANY, KeyFields.ALL);

  private enum Body {
    JSON,
    FORM,
    NONE,
    ANY
  }

  /** Stored responses of a route. */
  private enum Responses {
    NONE,
    /** Its requests create responses. */
    CREATED,
    /** The path of its requests has the id of a response. */
    IN_PATH
  }

  private final Body body;
  private final KeyFields keyFields;
  private final Responses responses;
  private final String label;

  Endpoint(Body body, KeyFields keyFields) {
    this(body, keyFields, Responses.NONE);
  }

  Endpoint(Body body, KeyFields keyFields, Responses responses) {
    this.body = body;
    this.keyFields = keyFields;
    this.responses = responses;
    label = name().toLowerCase(Locale.ROOT);
  }

  /**
   * The route of a request. Allocates nothing unless the path has doubled slashes or one at its
   * end, which do not count.
   *
   * @param method method as received; methods are case-sensitive
   * @param path path of the request target; a query string after it is ignored
   */
  public static Endpoint of(String method, CharSequence path) {
    Endpoint found = Routes.find(method, path);
    if (found != TRANSPARENT) {
      return found;
    }
    String given = path.toString();
    String plain = Paths.plain(given);
    return plain.equals(given) ? TRANSPARENT : Routes.find(method, plain);
  }

  /**
   * The id in the path of a request for a stored response; null if the route has none.
   *
   * @param path path of a request on this route
   */
  public @Nullable String responseId(CharSequence path) {
    return responses == Responses.IN_PATH ? Routes.responseId(Paths.plain(path.toString())) : null;
  }

  /** True if each request of the route creates a stored response or names one in its path. */
  public boolean storedResponses() {
    return responses != Responses.NONE;
  }

  /** True if the body must be a JSON object. */
  public boolean jsonBody() {
    return body == Body.JSON;
  }

  /** True if the body is form data with a field {@code model}. */
  public boolean formBody() {
    return body == Body.FORM;
  }

  /** True if the body can affect routing. */
  public boolean readsBody() {
    return body != Body.NONE;
  }

  /** Name of the route in metrics and logs. */
  public String label() {
    return label;
  }

  /** The body fields that form the routing key. */
  KeyFields keyFields() {
    return keyFields;
  }
}
