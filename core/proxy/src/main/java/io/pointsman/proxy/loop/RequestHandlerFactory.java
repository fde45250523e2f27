package io.pointsman.proxy.loop;

import io.pointsman.proxy.handler.RequestHandlers;

/** Source of the request handlers for event loops. */
@FunctionalInterface
public interface RequestHandlerFactory {
  /** The handlers for one event loop. */
  RequestHandlers create(LoopState state);
}
