package io.pointsman.request.event;

import java.util.regex.Pattern;

/**
 * End of an engine, as the text of an error shows. Its server may still answer probes as healthy.
 */
public enum EngineEnd {
  /** The error says nothing about the end of the engine. */
  NONE,
  /** The server shuts down and has not begun the request. */
  SHUTDOWN,
  /** The engine has died with the requests that it had. */
  DEATH;

  /** vLLM's text while its server shuts down. */
  private static final Pattern SHUTTING_DOWN =
      Pattern.compile("cannot schedule new futures after (?:interpreter )?shutdown");

  /** vLLM's texts after its engine has died. */
  private static final Pattern DEAD =
      Pattern.compile("EngineCore encountered an issue|EngineDeadError");

  /** The end that the text of an error shows. */
  public static EngineEnd of(CharSequence error) {
    if (DEAD.matcher(error).find()) {
      return DEATH;
    }
    return SHUTTING_DOWN.matcher(error).find() ? SHUTDOWN : NONE;
  }
}
