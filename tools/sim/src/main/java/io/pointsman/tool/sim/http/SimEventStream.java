package io.pointsman.tool.sim.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;

/**
 * A response of server-sent events, one chunk per event. Data is sent only by {@link #flush} or
 * {@link #end}.
 */
public final class SimEventStream {
  private final SimExchange exchange;
  private final HttpConnection connection;

  SimEventStream(SimExchange exchange, HttpConnection connection) {
    this.exchange = exchange;
    this.connection = connection;
  }

  /** Writes an event without a name. */
  public void data(CharSequence json) {
    write("data: ", json);
  }

  /** Writes an event with a name. */
  public void event(String name, CharSequence json) {
    write("event: " + name + "\ndata: ", json);
  }

  /**
   * Returns true if the connection accepts more at the moment; events written nevertheless are
   * buffered.
   */
  public boolean writable() {
    return connection.writable();
  }

  /** Sends the written events. */
  public void flush() {
    connection.flush();
  }

  /** Completes the response. */
  public void end() {
    if (!exchange.done()) {
      connection.writeEnd(exchange);
      exchange.end();
    }
  }

  private void write(String head, CharSequence json) {
    if (exchange.done()) {
      return;
    }
    ByteBuf event = connection.buffer(head.length() + json.length() + 16);
    ByteBufUtil.writeAscii(event, head);
    ByteBufUtil.writeUtf8(event, json);
    event.writeShort(0x0A0A);
    connection.writeChunk(exchange, event);
  }
}
