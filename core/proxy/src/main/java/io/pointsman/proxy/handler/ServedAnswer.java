package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The complete answer that the client of a request got.
 *
 * @param status its status; 0 for no answer, or an incomplete one
 * @param worker the worker of the last attempt; null if there was none
 */
public record ServedAnswer(int status, @Nullable Worker worker) {
  /** No complete answer of a worker. */
  public static final ServedAnswer NONE = new ServedAnswer(0, null);

  /** True if the client received a complete answer without an error. */
  public boolean good() {
    return status > 0 && status < 400;
  }
}
