package io.pointsman.it.split;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A client's request for five tokens with a new prompt, and the expected prefill request without
 * the protocol's members.
 *
 * @param id its {@code x-request-id}
 * @param open the client's body without its last brace
 * @param prefill the body of the prefill request without its last brace; lengths may differ
 */
record PdStepRequest(Route route, boolean stream, String id, String open, String prefill) {
  /** The routes with requests that are split. */
  enum Route {
    CHAT("/v1/chat/completions", "\"completion_tokens\":5"),
    COMPLETIONS("/v1/completions", "\"completion_tokens\":5"),
    RESPONSES("/v1/responses", "\"output_tokens\":5"),
    MESSAGES("/v1/messages", "\"output_tokens\":5"),
    GENERATE("/generate", "\"completion_tokens\":5"),
    TOKEN_GENERATE("/inference/v1/generate", "\"completion_tokens\":5");

    final String path;

    /** A text that a complete response contains. */
    final String counted;

    Route(String path, String counted) {
      this.path = path;
      this.counted = counted;
    }

    private String prompt(int call) {
      String words = "call " + call + " " + PeerRig.PROMPT;
      return switch (this) {
        case CHAT, MESSAGES ->
            "\"messages\" : [{\"role\":\"user\", \"content\":\"" + words + "\"}]";
        case COMPLETIONS -> "\"prompt\":\"" + words + "\"";
        case RESPONSES -> "\"input\" :\"" + words + "\"";
        case GENERATE -> "\"text\": \"" + words + "\"";
        case TOKEN_GENERATE -> "\"token_ids\":[" + ids(call) + "]";
      };
    }

    private static String ids(int call) {
      return IntStream.range(1000 * call, 1000 * call + 40)
          .mapToObj(Integer::toString)
          .collect(Collectors.joining(", "));
    }
  }

  private static final String STREAM =
      ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
  private static final String WHOLE = ",\"stream\":false";

  static List<PdStepRequest> all() {
    return IntStream.range(0, 2 * Route.values().length)
        .mapToObj(i -> of(Route.values()[i / 2], i % 2 == 1))
        .toList();
  }

  static PdStepRequest of(Route route, boolean stream) {
    int call = PeerRig.nextCall();
    String odd = ",\"x_odd\":[1.50, 1e3,{\"a\" : null}]";
    String rest = "{ \"model\":\"sim\"," + route.prompt(call) + odd;
    String asked = stream ? STREAM : "";
    String id = "6f1c-" + call;
    return switch (route) {
      case CHAT, COMPLETIONS, MESSAGES -> flat(route, stream, id, rest, "\"max_tokens\":");
      case RESPONSES -> flat(route, stream, id, rest, "\"max_output_tokens\":");
      case GENERATE ->
          new PdStepRequest(
              route,
              stream,
              id,
              rest + ",\"sampling_params\":{\"max_new_tokens\": 5,\"min_new_tokens\":2}" + asked,
              rest
                  + ",\"sampling_params\":{\"max_new_tokens\": 1}"
                  + (stream ? WHOLE + ",\"max_tokens\":1" : ",\"max_tokens\":1" + WHOLE));
      case TOKEN_GENERATE ->
          new PdStepRequest(
              route,
              stream,
              id,
              rest + ",\"sampling_params\":{\"min_tokens\":2,\"seed\":7,\"max_tokens\":5}" + asked,
              rest + ",\"sampling_params\":{\"seed\":7,\"max_tokens\":1}" + WHOLE);
    };
  }

  private static PdStepRequest flat(
      Route route, boolean stream, String id, String rest, String limit) {
    String open =
        stream
            ? rest + "," + limit + "5" + STREAM + ",\"min_tokens\":2"
            : rest + ",\"min_tokens\":2," + limit + "5";
    String stored = route == Route.RESPONSES ? ",\"store\":false" : "";
    return new PdStepRequest(route, stream, id, open, rest + "," + limit + "1" + WHOLE + stored);
  }

  /** The client's body. */
  String body() {
    return open + "}";
  }

  /** A text that the client's response must contain. */
  String answered() {
    if (!stream) {
      return route.counted;
    }
    return switch (route) {
      case CHAT, COMPLETIONS, GENERATE, TOKEN_GENERATE -> "data: [DONE]";
      case RESPONSES -> "\"type\":\"response.completed\"";
      case MESSAGES -> "\"type\":\"message_stop\"";
    };
  }
}
