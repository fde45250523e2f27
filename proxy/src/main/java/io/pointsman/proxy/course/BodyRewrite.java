package io.pointsman.proxy.course;

import io.netty.buffer.ByteBuf;

/** Changes the body of an answer on its way to the client. Belongs to the event loop. */
public interface BodyRewrite {
  /**
   * Takes the next bytes of the body, without framing; takes over their ownership.
   *
   * @return what may go to the client now, maybe nothing; handed over
   */
  ByteBuf take(ByteBuf data);

  /** The body is complete: the rest of it; handed over. */
  ByteBuf end();

  /** Whether parts go on before the body is complete. */
  boolean streams();

  /** Whether what went on so far ends between two events of a stream. */
  boolean betweenEvents();

  /** Lets go of every buffer. */
  void release();
}
