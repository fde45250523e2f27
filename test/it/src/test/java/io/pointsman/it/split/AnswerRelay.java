package io.pointsman.it.split;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.fleet.WorkerSpec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Relays bytes between the router and one engine, and records the engine's responses. */
final class AnswerRelay implements AutoCloseable {
  private static final Pattern LENGTH =
      Pattern.compile("(?i)\r\ncontent-length: *(\\d+)\r\n(?:.*\r\n)*?\r\n");

  private final ServerSocket server;
  private final List<Socket> open = new CopyOnWriteArrayList<>();

  /** Responses by connection. */
  private final List<ByteArrayOutputStream> answered = new CopyOnWriteArrayList<>();

  private volatile int engine;

  AnswerRelay() throws IOException {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.startVirtualThread(this::accept);
  }

  /** The worker with the relay's address. */
  WorkerSpec before(WorkerSpec worker) {
    engine = URI.create(worker.url()).getPort();
    String url = "http://127.0.0.1:" + server.getLocalPort();
    return new WorkerSpec(
        WorkerSpec.idOf(url),
        url,
        worker.role(),
        worker.models(),
        worker.rank(),
        worker.maxInFlight(),
        worker.labels());
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        Socket router = kept(server.accept());
        Socket to = kept(new Socket(InetAddress.getLoopbackAddress(), engine));
        ByteArrayOutputStream copy = new ByteArrayOutputStream();
        answered.add(copy);
        Thread.startVirtualThread(() -> pass(router, to, new ByteArrayOutputStream()));
        Thread.startVirtualThread(() -> pass(to, router, copy));
      } catch (IOException e) {
        // Closed, or the engine is unreachable: the router sees a closed connection.
      }
    }
  }

  private Socket kept(Socket socket) {
    open.add(socket);
    return socket;
  }

  private static void pass(Socket from, Socket to, ByteArrayOutputStream copy) {
    byte[] buffer = new byte[16 * 1024];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        copy.write(buffer, 0, n);
        out.write(buffer, 0, n);
      }
    } catch (IOException e) {
      // One side has closed its connection; the other is closed too.
    }
  }

  /** The bodies of the engine's responses, byte for byte. */
  List<String> bodies() {
    List<String> bodies = new ArrayList<>();
    for (ByteArrayOutputStream connection : answered) {
      String bytes = connection.toString(ISO_8859_1);
      Matcher head = LENGTH.matcher(bytes);
      int at = 0;
      while (at < bytes.length() && head.find(at)) {
        at = Math.min(bytes.length(), head.end() + Integer.parseInt(head.group(1)));
        bodies.add(new String(bytes.substring(head.end(), at).getBytes(ISO_8859_1), UTF_8));
      }
    }
    return bodies;
  }

  @Override
  public void close() throws IOException {
    server.close();
    for (Socket socket : open) {
      socket.close();
    }
  }
}
