package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files and batches over real sockets, through production-stack's command line and {@code serve}.
 */
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
@Tag("full")
@Timeout(180)
class BatchApiTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHAT = "/v1/chat/completions";

  @TempDir Path directory;

  private RouterProcess stack(ScriptedEngine engine) throws IOException {
    return RouterProcess.startAs(
        "production-stack",
        "--service-discovery",
        "static",
        "--static-backends",
        engine.url(),
        "--static-models",
        "m",
        "--routing-logic",
        "roundrobin",
        "--enable-batch-api",
        "--file-storage-path",
        directory.toString());
  }

  private static JsonNode get(RouterProcess router, String path) {
    try {
      HttpAnswer answer = RawClient.call(router.port(), "GET", path, "");
      return JSON.readTree(answer.text());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String url(RouterProcess router, String path) {
    return "http://127.0.0.1:" + router.port() + path;
  }

  /** Uploads a file in chunks and returns its id. */
  private static String upload(RouterProcess router, byte[] content) throws IOException {
    HttpURLConnection connection =
        (HttpURLConnection) URI.create(url(router, "/v1/files")).toURL().openConnection();
    connection.setDoOutput(true);
    connection.setChunkedStreamingMode(8192);
    connection.setRequestProperty("content-type", "multipart/form-data; boundary=b");
    String part = "--b\r\nContent-Disposition: form-data; name=";
    try (OutputStream out = connection.getOutputStream()) {
      out.write((part + "\"purpose\"\r\n\r\nbatch\r\n").getBytes(StandardCharsets.US_ASCII));
      out.write(
          (part + "\"file\"; filename=\"in.jsonl\"\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
      out.write(content);
      out.write("\r\n--b--\r\n".getBytes(StandardCharsets.US_ASCII));
    }
    assertThat(connection.getResponseCode()).isEqualTo(200);
    try (InputStream in = connection.getInputStream()) {
      return JSON.readTree(in).path("id").asText();
    }
  }

  private static String lines(int count) {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < count; i++) {
      lines
          .append("{\"custom_id\":\"c")
          .append(i)
          .append(
              "\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{\"model\":\"m\",")
          .append("\"messages\":[{\"role\":\"user\",\"content\":\"n")
          .append(i)
          .append("\"}]}}\n");
    }
    return lines.toString();
  }

  private static String batch(RouterProcess router, String file) throws IOException {
    String body = "{\"input_file_id\":\"" + file + "\",\"endpoint\":\"" + CHAT + "\"}";
    return JSON.readTree(RawClient.call(router.port(), "POST", "/v1/batches", body).text())
        .path("id")
        .asText();
  }

  private static JsonNode completed(RouterProcess router, String batch) {
    WaitFor.until(
        "the batch is completed",
        WaitFor.LONG,
        () -> get(router, "/v1/batches/" + batch).path("status").asText().equals("completed"));
    return get(router, "/v1/batches/" + batch);
  }

  @Test
  void aBatchContinuesAfterARestartOfTheRouter() throws Exception {
    CountDownLatch gate = new CountDownLatch(1);
    Queue<String> held = new ConcurrentLinkedQueue<>();
    try (ScriptedEngine engine =
        ScriptedEngine.start(
            new Faults.Healthy(
                "m",
                (request, connection) -> {
                  if (request.bodyText().contains("n7") && gate.getCount() > 0) {
                    held.add(request.bodyText());
                    connection.awaitPeerGone();
                    return;
                  }
                  Faults.Answer.ok().answer(request, connection);
                }))) {
      String batch;
      try (RouterProcess router = stack(engine)) {
        batch = batch(router, upload(router, lines(20).getBytes(StandardCharsets.UTF_8)));
        WaitFor.until(
            "all but one have a result",
            WaitFor.LONG,
            () ->
                get(router, "/v1/batches/" + batch).at("/request_counts/completed").asInt() == 19);
        assertThat(get(router, "/v1/batches/" + batch).path("status").asText())
            .isEqualTo("in_progress");
      }
      gate.countDown();
      try (RouterProcess router = stack(engine)) {
        JsonNode done = completed(router, batch);
        assertThat(done.at("/request_counts/completed").asInt()).isEqualTo(20);
        String output =
            RawClient.call(
                    router.port(),
                    "GET",
                    "/v1/files/" + done.path("output_file_id").asText() + "/content",
                    "")
                .text();
        assertThat(output.lines()).hasSize(20);
        assertThat(output.lines().skip(7).findFirst().orElse("")).contains("\"c7\"");
        assertThat(get(router, "/v1/files").path("data")).hasSize(2);
        router.verify();
      }
    }
    assertThat(held).hasSize(1);
  }

  /** More than the router buffers of a body. */
  @Test
  void aLargeFileComesBackByteForByte() throws Exception {
    byte[] content = new byte[30 << 20];
    for (int i = 0; i < content.length; i++) {
      content[i] = (byte) ((i * 31) >> 3);
    }
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        RouterProcess router =
            RouterProcess.serve(
                List.of(engine.url()),
                "--batch-enabled",
                "--batch-directory",
                directory.toString())) {
      String id = upload(router, content);
      URI from = URI.create(url(router, "/v1/files/" + id + "/content"));
      try (InputStream in = from.toURL().openStream()) {
        assertThat(in.readAllBytes()).isEqualTo(content);
      }
      router.verify();
    }
  }
}
