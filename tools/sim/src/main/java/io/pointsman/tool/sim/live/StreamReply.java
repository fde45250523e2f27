package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.http.SimJson;

/** Writes the response of a run as events while it is generated. */
public interface StreamReply {
  /** The request has been accepted; nothing is computed yet. */
  default void taken(SimEventStream out) {}

  /** Is called before the first token of any choice. */
  void opened(SimEventStream out);

  /** Writes a token of a choice; {@code index} counts from 0. */
  void token(SimEventStream out, int choice, int index);

  /** A choice is complete. */
  void ended(SimEventStream out, int choice);

  /** The engine died. */
  default void failed(SimEventStream out) {
    out.data(SimJson.error(500, "InternalServerError", Generator.DEAD, null).toString());
    out.data("[DONE]");
  }

  /** All choices are complete. */
  void closed(SimEventStream out);
}
