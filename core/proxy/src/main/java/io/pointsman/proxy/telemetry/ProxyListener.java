package io.pointsman.proxy.telemetry;

/** Receiver of the data plane's events. Called on event loops, by several threads. */
@FunctionalInterface
public interface ProxyListener {
  /** Ignores all events. */
  ProxyListener NONE = _ -> {};

  /** Receives an event. Must not block, throw or allocate. */
  void on(RequestEvent event);

  /** True if reports need the token counts of every answer, which costs time. */
  default boolean readsUsage() {
    return false;
  }

  /** True if {@link RequestEvent.RouterAnswered} is reported. */
  default boolean receivesOwnAnswers() {
    return false;
  }
}
