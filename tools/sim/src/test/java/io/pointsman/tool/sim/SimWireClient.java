package io.pointsman.tool.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A simple client for wire tests: complete calls over the JDK's client, and raw sockets for exact
 * bytes.
 */
final class SimWireClient {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private SimWireClient() {}

  static HttpResponse<String> send(String method, String url, String body) throws IOException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .timeout(Duration.ofSeconds(60))
            .method(
                method, body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .build();
    return exchange(request);
  }

  private static HttpResponse<String> exchange(HttpRequest request) throws IOException {
    try {
      return HTTP.send(request, BodyHandlers.ofString());
    } catch (InterruptedException e) {
      throw new IllegalStateException("test: interrupted", e);
    }
  }

  static HttpResponse<String> post(String url, String body) throws IOException {
    return send("POST", url, body);
  }

  /** Posts a form with a model and a file. */
  static HttpResponse<String> postForm(String url, String model, byte[] file) throws IOException {
    String start =
        """
        --edge
        Content-Disposition: form-data; name="model"

        MODEL
        --edge
        Content-Disposition: form-data; name="file"; filename="a.wav"
        Content-Type: audio/wav

        """
            .replace("MODEL", model)
            .replace("\n", "\r\n");
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.write(start.getBytes(StandardCharsets.US_ASCII));
    body.write(file);
    body.write("\r\n--edge--\r\n".getBytes(StandardCharsets.US_ASCII));
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .timeout(Duration.ofSeconds(60))
            .header("Content-Type", "multipart/form-data; boundary=edge")
            .POST(BodyPublishers.ofByteArray(body.toByteArray()))
            .build();
    return exchange(request);
  }

  static HttpResponse<String> get(String url) throws IOException {
    return send("GET", url, "");
  }

  static JsonNode json(String text) throws IOException {
    return MAPPER.readTree(text);
  }

  static JsonNode postJson(String url, String body) throws IOException {
    return json(post(url, body).body());
  }

  /** The data of each event of a stream. */
  static List<String> events(String stream) {
    List<String> events = new ArrayList<>();
    stream
        .lines()
        .filter(line -> line.startsWith("data: "))
        .forEach(line -> events.add(line.substring("data: ".length())));
    return events;
  }

  /** A connection that has sent a POST; the caller closes it. */
  static Socket open(int port, String path, String body) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(60_000);
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    String head =
        "POST "
            + path
            + " HTTP/1.1\r\nHost: engine\r\nContent-Length: "
            + bytes.length
            + "\r\n\r\n";
    socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().write(bytes);
    socket.getOutputStream().flush();
    return socket;
  }

  /** Reads until {@code wanted} has been read. */
  static String readUntil(InputStream in, String wanted) throws IOException {
    StringBuilder text = new StringBuilder();
    while (text.indexOf(wanted) < 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("stream: ended before " + wanted + ", after: " + text);
      }
      text.append((char) next);
    }
    return text.toString();
  }
}
