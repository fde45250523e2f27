package io.pointsman.request;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Table of the known paths and their endpoints. */
final class Routes {
  private record Route(String path, Endpoint endpoint) {}

  /** Routes of POST requests. */
  private static final List<Route> POSTS =
      List.of(
          new Route("/v1/chat/completions", Endpoint.CHAT_COMPLETIONS),
          new Route("/v1/completions", Endpoint.COMPLETIONS),
          new Route("/v1/responses", Endpoint.RESPONSES),
          new Route("/v1/embeddings", Endpoint.EMBEDDINGS),
          new Route("/rerank", Endpoint.RERANK),
          new Route("/v1/rerank", Endpoint.RERANK),
          new Route("/v2/rerank", Endpoint.RERANK),
          new Route("/score", Endpoint.SCORE),
          new Route("/v1/score", Endpoint.SCORE),
          new Route("/pooling", Endpoint.POOLING),
          new Route("/classify", Endpoint.CLASSIFY),
          new Route("/generate", Endpoint.GENERATE),
          new Route("/inference/v1/generate", Endpoint.TOKEN_GENERATE),
          new Route("/tokenize", Endpoint.TOKENIZE),
          new Route("/detokenize", Endpoint.DETOKENIZE),
          new Route("/v1/messages", Endpoint.MESSAGES),
          new Route("/v1/messages/count_tokens", Endpoint.MESSAGES_COUNT_TOKENS),
          new Route("/v1/audio/transcriptions", Endpoint.AUDIO_TRANSCRIPTIONS),
          new Route("/v1/audio/translations", Endpoint.AUDIO_TRANSLATIONS),
          new Route("/v1/audio/speech", Endpoint.AUDIO_SPEECH),
          new Route("/v1/images/generations", Endpoint.IMAGES_GENERATIONS),
          new Route("/v1/images/edits", Endpoint.IMAGES_EDITS),
          new Route("/v1/images/variations", Endpoint.IMAGES_VARIATIONS));

  /** Path of WebSockets, which begin with a GET request. */
  private static final String REALTIME = "/v1/realtime";

  private static final String STORED = "/v1/responses/";
  private static final Route[][] BY_LENGTH = byLength();

  private Routes() {}

  static Endpoint find(String method, CharSequence path) {
    int length = pathLength(path);
    if (method.equals("POST") && length < BY_LENGTH.length) {
      for (Route route : BY_LENGTH[length]) {
        if (matches(path, 0, length, route.path)) {
          return route.endpoint;
        }
      }
    }
    if (method.equals("GET") && matches(path, 0, length, REALTIME)) {
      return Endpoint.REALTIME;
    }
    boolean stored = length >= STORED.length() && matches(path, 0, STORED.length(), STORED);
    return stored ? findStored(method, path, length) : Endpoint.TRANSPARENT;
  }

  /** The id in a path below {@code /v1/responses/}; null if there is none. */
  static @Nullable String responseId(CharSequence path) {
    int end = idEnd(path, pathLength(path));
    int start = STORED.length();
    return end <= start ? null : path.subSequence(start, end).toString();
  }

  private static Endpoint findStored(String method, CharSequence path, int length) {
    int end = idEnd(path, length);
    if (end == STORED.length()) {
      return Endpoint.TRANSPARENT;
    }
    if (end == length) {
      return switch (method) {
        case "GET" -> Endpoint.RESPONSE_GET;
        case "DELETE" -> Endpoint.RESPONSE_DELETE;
        default -> Endpoint.TRANSPARENT;
      };
    }
    if (method.equals("POST") && matches(path, end, length, "/cancel")) {
      return Endpoint.RESPONSE_CANCEL;
    }
    boolean input =
        matches(path, end, length, "/input_items") || matches(path, end, length, "/input");
    return input && method.equals("GET") ? Endpoint.RESPONSE_INPUT_ITEMS : Endpoint.TRANSPARENT;
  }

  private static int idEnd(CharSequence path, int length) {
    int end = STORED.length();
    while (end < length && path.charAt(end) != '/') {
      end++;
    }
    return end;
  }

  private static int pathLength(CharSequence path) {
    for (int i = 0; i < path.length(); i++) {
      if (path.charAt(i) == '?') {
        return i;
      }
    }
    return path.length();
  }

  private static boolean matches(CharSequence path, int from, int to, String expected) {
    if (to - from != expected.length()) {
      return false;
    }
    for (int i = expected.length() - 1; i >= 0; i--) {
      if (path.charAt(from + i) != expected.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  private static Route[][] byLength() {
    int longest = POSTS.stream().mapToInt(r -> r.path.length()).max().orElse(0);
    Route[][] table = new Route[longest + 1][];
    for (int length = 0; length <= longest; length++) {
      int wanted = length;
      table[length] = POSTS.stream().filter(r -> r.path.length() == wanted).toArray(Route[]::new);
    }
    return table;
  }
}
