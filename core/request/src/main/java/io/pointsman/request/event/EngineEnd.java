package io.pointsman.request.event;

import java.util.regex.Pattern;

/**
 * End of an engine, as the text of an error shows. Its server may still answer probes as healthy.
 * The text must begin with the engine's words. An error can quote a client's words further on.
 */
public enum EngineEnd {
  /** The error says nothing about the end of the engine. */
  NONE,
  /** The server shuts down and has not begun the request. */
  SHUTDOWN,
  /** The engine has died with the requests that it had. */
  DEATH;

  /** The start of the text, or of the member with it, and the name of an exception's class. */
  private static final String START =
      "(?:^\\s*\"?|\"(?:error|message|detail)\"\\s*:\\s*\")(?:[A-Za-z]\\w{0,63}: )?";

  /** vLLM's text while its server shuts down. */
  private static final Pattern SHUTTING_DOWN =
      Pattern.compile(START + "cannot schedule new futures after (?:interpreter )?shutdown");

  /** vLLM's texts after its engine has died. */
  private static final Pattern DEAD =
      Pattern.compile(
          START + "(?:EngineCore encountered an issue|(?:\\w{1,64}\\.){0,8}EngineDeadError)");

  /** The end that the text of an error shows. */
  public static EngineEnd of(CharSequence error) {
    if (DEAD.matcher(error).find()) {
      return DEATH;
    }
    return SHUTTING_DOWN.matcher(error).find() ? SHUTDOWN : NONE;
  }
}
