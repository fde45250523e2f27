package io.pointsman.sim.live;

import io.pointsman.sim.http.EventStream;

/** Writes the answer of a run as events, while it is produced. */
public interface StreamReply {
  /** The request has been taken; nothing is computed yet. */
  default void taken(EventStream out) {}

  /** Before the first token of any choice. */
  void opened(EventStream out);

  /** A token of a choice; {@code index} counts from 0. */
  void token(EventStream out, int choice, int index);

  /** A choice is complete. */
  void ended(EventStream out, int choice);

  /** All choices are complete. */
  void closed(EventStream out);
}
