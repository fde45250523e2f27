package io.pointsman.proxy.loop;

import io.pointsman.proxy.handler.RequestHandlers;
import org.jspecify.annotations.Nullable;

/** Source of the request handlers for event loops. */
@FunctionalInterface
public interface RequestHandlerFactory {
  /** No handlers: the one worker that the engine chooses serves each request. */
  RequestHandlerFactory NONE = _ -> null;

  /** The handlers for one event loop; null for none, as in {@link #NONE}. */
  @Nullable RequestHandlers create(LoopState state);
}
