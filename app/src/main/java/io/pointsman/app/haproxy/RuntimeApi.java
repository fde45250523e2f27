package io.pointsman.app.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/** HAProxy's runtime API, over its own socket. */
final class RuntimeApi {
  /** HAProxy has understood a command and does not do it. */
  static final class Refused extends IOException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }

  private final Path socket;

  RuntimeApi(Path socket) {
    this.socket = socket;
  }

  /** One command, and what HAProxy says to it. */
  String ask(String command) throws IOException {
    try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      channel.connect(UnixDomainSocketAddress.of(socket));
      ByteBuffer out = ByteBuffer.wrap((command + "\n").getBytes(UTF_8));
      while (out.hasRemaining()) {
        channel.write(out);
      }
      ByteArrayOutputStream answer = new ByteArrayOutputStream();
      ByteBuffer in = ByteBuffer.allocate(8192);
      while (channel.read(in) >= 0) {
        answer.write(in.array(), 0, in.position());
        in.clear();
      }
      return answer.toString(UTF_8).strip();
    }
  }

  /**
   * A command that says nothing, or that the address was changed, if it is done.
   *
   * @throws Refused if HAProxy does not do it
   * @throws IOException if HAProxy cannot be reached
   */
  void tell(String command) throws IOException {
    String answer = ask(command);
    if (!answer.isEmpty() && !answer.contains("changed") && !answer.contains("no need to")) {
      throw new Refused(command + ": " + answer);
    }
  }
}
