package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** A fake of HAProxy's runtime API: records commands and sends configured responses. */
final class FakeRuntime implements AutoCloseable {
  private final ServerSocketChannel listener;
  private final ConcurrentLinkedQueue<String> commands = new ConcurrentLinkedQueue<>();

  /** The response to a command. */
  volatile UnaryOperator<String> says = _ -> "";

  /** Commands that are executed, but with the connection closed instead of a response. */
  volatile Predicate<String> breaks = _ -> false;

  /** While true, commands are read and get no response. */
  volatile boolean hangs;

  private final Queue<SocketChannel> hanging = new ConcurrentLinkedQueue<>();

  FakeRuntime(Path socket) throws IOException {
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(socket));
    Thread.ofVirtual().name("fake-runtime").start(this::run);
  }

  /** The commands since the last call. */
  List<String> received() {
    List<String> all = new ArrayList<>();
    for (String each = commands.poll(); each != null; each = commands.poll()) {
      all.add(each);
    }
    return all;
  }

  private void run() {
    while (listener.isOpen()) {
      try {
        SocketChannel channel = listener.accept();
        if (hangs) {
          hanging.add(channel);
        } else {
          answer(channel);
        }
      } catch (IOException e) {
        return;
      }
    }
  }

  private void answer(SocketChannel accepted) throws IOException {
    try (SocketChannel channel = accepted) {
      String command = line(channel);
      commands.add(command);
      if (!breaks.test(command)) {
        channel.write(ByteBuffer.wrap((says.apply(command) + "\n").getBytes(UTF_8)));
      }
    }
  }

  private static String line(SocketChannel channel) throws IOException {
    ByteBuffer in = ByteBuffer.allocate(1024);
    while (in.position() == 0 || in.get(in.position() - 1) != '\n') {
      if (channel.read(in) < 0) {
        break;
      }
    }
    return new String(in.array(), 0, in.position(), UTF_8).strip();
  }

  @Override
  public void close() throws IOException {
    listener.close();
    for (SocketChannel channel : hanging) {
      channel.close();
    }
  }
}
