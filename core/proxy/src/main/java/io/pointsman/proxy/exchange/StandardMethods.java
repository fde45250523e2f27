package io.pointsman.proxy.exchange;

import io.pointsman.proxy.settings.LimitSettings.Strictness;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The methods that vllm-router accepts. Each of its routes has its own; on other paths it accepts
 * the methods that it forwards. Routes that this router answers itself are not here; they have
 * their methods.
 */
final class StandardMethods {
  /** The methods that vllm-router forwards. */
  private static final List<String> FORWARDED =
      List.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE");

  private static final List<String> POST = List.of("POST");
  private static final List<String> GET = List.of("GET", "HEAD");
  private static final List<String> STORED = List.of("GET", "HEAD", "DELETE");
  private static final String RESPONSES = "/v1/responses/";

  private static final Map<String, List<String>> ROUTES =
      Map.ofEntries(
          Map.entry("/v1/chat/completions", POST),
          Map.entry("/v1/completions", POST),
          Map.entry("/v1/responses", POST),
          Map.entry("/v1/embeddings", POST),
          Map.entry("/v1/rerank", POST),
          Map.entry("/rerank", POST),
          Map.entry("/generate", POST),
          Map.entry("/inference/v1/generate", POST),
          Map.entry("/health_generate", GET),
          Map.entry("/v1/models", GET),
          Map.entry("/get_model_info", GET),
          Map.entry("/get_server_info", GET));

  private StandardMethods() {}

  /** Returns the permitted methods of any path if the method is not one of them; else null. */
  static @Nullable String refusal(RequestHead head) {
    return refusal(head, FORWARDED);
  }

  /**
   * Returns the permitted methods of the path, if the method is not one of them; else null.
   *
   * @param head a head with a normalised path
   */
  static @Nullable String refusal(RequestHead head, Strictness strictness) {
    List<String> methods = ofRoute(head.path());
    if (methods == null) {
      boolean known = Endpoint.of(head.method(), head.uri()) != Endpoint.TRANSPARENT;
      methods = strictness.postOnly() && !known ? POST : FORWARDED;
    }
    return refusal(head, methods);
  }

  private static @Nullable String refusal(RequestHead head, List<String> methods) {
    return methods.contains(head.method()) ? null : String.join(", ", methods);
  }

  private static @Nullable List<String> ofRoute(String path) {
    List<String> methods = ROUTES.get(path);
    if (methods != null || !path.startsWith(RESPONSES)) {
      return methods;
    }
    String rest = path.substring(RESPONSES.length());
    int slash = rest.indexOf('/');
    if (slash < 0) {
      return STORED;
    }
    return switch (rest.substring(slash)) {
      case "/cancel" -> POST;
      case "/input", "/input_items" -> GET;
      default -> null;
    };
  }
}
