package io.pointsman.proxy.loop;

/** A client's connection, as its event loop sees it, to which it belongs. */
public interface LoopClient {
  /** It has another place among the loop's connections. */
  void movedTo(int newIndex);

  /** Ends what has taken too long; does not throw. */
  void checkTimeouts(long now);

  /** Closes unless a request comes or is under way. */
  void drain();

  /** Ends what is under way. */
  void cut();
}
