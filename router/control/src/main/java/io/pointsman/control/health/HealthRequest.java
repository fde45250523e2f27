package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.io.JsonStringEncoder;
import io.pointsman.config.settings.HealthRequestLabel;
import io.pointsman.config.settings.HealthRequestLabel.Kind;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * A real request that finds out whether an engine serves a model. The requests are those of vLLM's
 * production-stack.
 *
 * @param body complete body; not copied
 */
@SuppressWarnings("ArrayRecordComponent") // sent, never compared
record HealthRequest(Kind kind, String model, String path, String contentType, byte[] body) {
  private static final JsonFactory JSON = new JsonFactory();
  private static final String BOUNDARY = "pointsman-health";

  /** Samples of 0.1 s at 16 kHz. */
  private static final int SAMPLES = 1600;

  /** A picture of 1 x 1 pixels. */
  private static final String PICTURE =
      "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAC"
          + "hwGA60e6kgAAAABJRU5ErkJggg==";

  /** The requests that a worker's label asks for; none without the label. */
  static List<HealthRequest> of(WorkerSpec worker) {
    List<HealthRequest> requests = new ArrayList<>();
    HealthRequestLabel.of(worker)
        .forEach((model, kinds) -> kinds.forEach(kind -> requests.add(of(kind, model))));
    return requests;
  }

  static HealthRequest of(Kind kind, String model) {
    String name = '"' + new String(JsonStringEncoder.getInstance().quoteAsString(model)) + '"';
    String chat = "\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]";
    return switch (kind) {
      case CHAT ->
          json(
              kind,
              model,
              "/v1/chat/completions",
              name,
              chat + ",\"temperature\":0.0,\"max_tokens\":3");
      case MESSAGES -> json(kind, model, "/v1/messages", name, chat + ",\"max_tokens\":3");
      case VISION ->
          json(
              kind,
              model,
              "/v1/chat/completions",
              name,
              "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Say"
                  + " yes\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\""
                  + PICTURE
                  + "\"}}]}],\"max_tokens\":3");
      case COMPLETION ->
          json(kind, model, "/v1/completions", name, "\"prompt\":\"Hello\",\"max_tokens\":3");
      case EMBEDDINGS -> json(kind, model, "/v1/embeddings", name, "\"input\":\"Hello\"");
      case RERANK ->
          json(kind, model, "/v1/rerank", name, "\"query\":\"Hello\",\"documents\":[\"Test\"]");
      case SCORE ->
          json(
              kind,
              model,
              "/v1/score",
              name,
              "\"encoding_format\":\"float\",\"text_1\":\"Test\",\"text_2\":\"Test2\"");
      case TRANSCRIPTION ->
          new HealthRequest(
              kind,
              model,
              "/v1/audio/transcriptions",
              "multipart/form-data; boundary=" + BOUNDARY,
              recording(model));
    };
  }

  private static HealthRequest json(
      Kind kind, String model, String path, String name, String members) {
    byte[] body = ("{\"model\":" + name + "," + members + "}").getBytes(UTF_8);
    return new HealthRequest(kind, model, path, "application/json", body);
  }

  /** A form with a short silent recording. */
  private static byte[] recording(String model) {
    String part = "--" + BOUNDARY + "\r\nContent-Disposition: form-data; name=";
    ByteArrayOutputStream form = new ByteArrayOutputStream();
    form.writeBytes((part + "\"model\"\r\n\r\n" + model + "\r\n").getBytes(UTF_8));
    form.writeBytes(
        (part + "\"file\"; filename=\"empty.wav\"\r\nContent-Type: audio/wav\r\n\r\n")
            .getBytes(UTF_8));
    form.writeBytes(silence());
    form.writeBytes(("\r\n--" + BOUNDARY + "--\r\n").getBytes(UTF_8));
    return form.toByteArray();
  }

  /** A WAV file: 16 bits, mono. */
  private static byte[] silence() {
    int size = SAMPLES * 2;
    ByteBuffer wav = ByteBuffer.allocate(44 + size).order(ByteOrder.LITTLE_ENDIAN);
    wav.put("RIFF".getBytes(ISO_8859_1)).putInt(36 + size);
    wav.put("WAVEfmt ".getBytes(ISO_8859_1)).putInt(16).putShort((short) 1).putShort((short) 1);
    wav.putInt(16_000).putInt(32_000).putShort((short) 2).putShort((short) 16);
    wav.put("data".getBytes(ISO_8859_1)).putInt(size);
    return wav.array();
  }

  /** True if this is the response of an engine that serves the model. */
  boolean served(EngineClient.Answer answer) {
    return answer.good() && (kind == Kind.TRANSCRIPTION || isJson(answer.body()));
  }

  private static boolean isJson(byte[] body) {
    try (JsonParser json = JSON.createParser(body)) {
      boolean any = json.nextToken() != null;
      while (json.nextToken() != null) {
        json.skipChildren();
      }
      return any;
    } catch (IOException e) {
      return false;
    }
  }
}
