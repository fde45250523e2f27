package io.pointsman.testkit.engine;

/** Faults of WebSockets, of their engines and of their clients. */
public enum WebSocketFault {
  /** The engine resets an open WebSocket. */
  RESETS_SOCKET,
  /** The engine closes an open WebSocket without a closing frame. */
  CLOSES_SOCKET,
  /** The client resets an open WebSocket. */
  CLIENT_RESETS_SOCKET,
  /** The client closes an open WebSocket without a closing frame. */
  CLIENT_CLOSES_SOCKET,
  /** The client ends its side, and the engine ignores that. */
  END_IS_IGNORED,
  /** Neither side sends anything. */
  SOCKET_IS_SILENT,
  /** One side sends, the other one does not read. */
  SOCKET_IS_NOT_READ,
  /** The router stops during an open WebSocket. */
  STOP_DURING_SOCKET,
  /** The engine answers the upgrade with 200. */
  ANSWERS_UPGRADE,
  /** The engine answers the upgrade with 403. */
  REFUSES_UPGRADE,
  /** The engine sends other bytes before the 101. */
  BYTES_BEFORE_SWITCH,
  /** The engine switches to another protocol. */
  SWITCHES_OTHERWISE,
  /** The engine switches without a request for it. */
  SWITCHES_UNASKED,
  /** The engine ends the connection in place of an answer. */
  ENDS_BEFORE_SWITCH
}
