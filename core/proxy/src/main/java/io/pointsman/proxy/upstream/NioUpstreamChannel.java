package io.pointsman.proxy.upstream;

import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.nio.ByteBuffer;

/** A connection to a worker over NIO, which can be read outside the pipeline. */
public final class NioUpstreamChannel extends NioSocketChannel {
  /** Reads the available bytes. Returns 0 for nothing, -1 at the end of the connection. */
  int read(ByteBuffer into) throws IOException {
    return javaChannel().read(into);
  }
}
