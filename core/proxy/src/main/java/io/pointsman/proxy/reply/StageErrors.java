package io.pointsman.proxy.reply;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.Role;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Errors of prefill and decode workers in the form of vLLM's production-stack. The type is {@code
 * prefiller_error} or {@code decoder_error}, the code is the status, and the message has the
 * engine's own message.
 */
public final class StageErrors {
  /** Message in an engine's error, as JSON text without its quotes. */
  private static final Pattern MESSAGE =
      Pattern.compile("\"(?:message|detail|error)\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.){1,4096}+)\"");

  private StageErrors() {}

  /** True if workers of the role have errors of a stage. */
  public static boolean apply(@Nullable Role role) {
    return role == Role.PREFILL || role == Role.DECODE;
  }

  /**
   * The error for an engine's error.
   *
   * @param role prefill or decode
   * @param body body of the engine's answer
   */
  public static byte[] of(Role role, int status, byte[] body) {
    String text = new String(body, UTF_8);
    Matcher message = MESSAGE.matcher(text);
    String written = message.find() ? message.group(1) : JsonStrings.escape(text.strip());
    return json(role, status, written).getBytes(UTF_8);
  }

  /**
   * The router's answer if a worker did not answer.
   *
   * @param role prefill or decode
   */
  public static Reply of(Role role, ProxyError error) {
    byte[] body = json(role, error.status(), JsonStrings.escape(error.message())).getBytes(UTF_8);
    return new Reply(error.status(), Map.of("content-type", "application/json"), body);
  }

  private static String json(Role role, int status, String escaped) {
    boolean prefill = role == Role.PREFILL;
    return "{\"error\":{\"message\":\""
        + (prefill ? "Prefiller" : "Decoder")
        + " error: "
        + escaped
        + "\",\"type\":\""
        + (prefill ? "prefiller_error" : "decoder_error")
        + "\",\"code\":"
        + status
        + "}}";
  }
}
