package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.http.EventStream;
import io.pointsman.tool.sim.http.SimJson;

/** Writes the response of a run as events while it is generated. */
public interface StreamReply {
  /** The request has been accepted; nothing is computed yet. */
  default void taken(EventStream out) {}

  /** Is called before the first token of any choice. */
  void opened(EventStream out);

  /** Writes a token of a choice; {@code index} counts from 0. */
  void token(EventStream out, int choice, int index);

  /** A choice is complete. */
  void ended(EventStream out, int choice);

  /** The engine died. */
  default void failed(EventStream out) {
    out.data(SimJson.error(500, "InternalServerError", Generator.DEAD, null).toString());
    out.data("[DONE]");
  }

  /** All choices are complete. */
  void closed(EventStream out);
}
