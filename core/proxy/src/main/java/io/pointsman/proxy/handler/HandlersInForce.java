package io.pointsman.proxy.handler;

/** The handlers in force on an event loop, which may change. */
@FunctionalInterface
public interface HandlersInForce {
  /** The handlers of a request that begins now. It uses them until its end. */
  RequestHandlers inForce();
}
