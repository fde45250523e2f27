package io.pointsman.proxy.identity;

import io.pointsman.request.BodyVerdict;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The rule for clients that may use only some models. */
public final class ModelRights {
  private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");

  private ModelRights() {}

  /**
   * True if the client may send the request. Without a model it may only read, and end a stored
   * response of its own, but not upgrade the connection to another protocol.
   *
   * @param facts facts of the whole body
   * @param asked model by the client's name, which may be an alias; null if the request names none
   * @param endsOwn true if the request ends a stored response that the client has created
   */
  public static boolean permits(
      ClientIdentity client,
      String method,
      RequestHeaders headers,
      RequestFacts facts,
      @Nullable String asked,
      boolean endsOwn) {
    if (!client.restricted()) {
      return true;
    }
    if (!RequestReader.namesOnly(headers, client::mayUse) || !permitsFurther(client, facts)) {
      return false;
    }
    if (asked == null && (endsOwn || READING.contains(method))) {
      return headers.first("upgrade") == null;
    }
    // Of a malformed body an engine may read more.
    return facts.body().kind() != BodyVerdict.Kind.MALFORMED
        && (client.mayUse(asked) || client.mayUse(facts.model()));
  }

  private static boolean permitsFurther(ClientIdentity client, RequestFacts facts) {
    for (String model : facts.body().furtherModels()) {
      if (!client.mayUse(model)) {
        return false;
      }
    }
    return true;
  }
}
