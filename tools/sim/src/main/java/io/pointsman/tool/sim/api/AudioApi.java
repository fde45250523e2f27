package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.MultipartForm;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimEventStream;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.live.Generator;
import io.pointsman.tool.sim.live.StreamReply;
import java.util.List;
import java.util.zip.CRC32;

/**
 * {@code POST /v1/audio/transcriptions} and {@code translations}: a form with a file; one prompt
 * token for every 640 bytes.
 */
final class AudioApi {
  private static final int BYTES_PER_TOKEN = 640;
  private static final int BYTES_PER_SECOND = 32_000;

  private final SimRequests requests;
  private final Generator generator;

  AudioApi(EngineCore engine, Generator generator) {
    this.requests = new SimRequests(engine);
    this.generator = generator;
  }

  void handle(SimExchange exchange) {
    MultipartForm form = MultipartForm.read(exchange);
    byte[] file = form.bytes("file");
    if (file == null || file.length == 0) {
      throw RequestError.badRequest("file: missing (expected: an audio file)", "file");
    }
    ObjectNode body = SimJson.object().put("model", form.text("model", ""));
    requests.model(body);
    List<int[]> prompts = List.of(tokens(file));
    SimRequests.Length length = requests.length(body, prompts, 0);
    Generation request = requests.generation(body, body, prompts, length);
    if (form.text("stream", "false").equals("true")) {
      generator.answerStream(exchange, request, Events::new);
    } else {
      int seconds = Math.ceilDiv(file.length, BYTES_PER_SECOND);
      generator.answerWhole(exchange, request, run -> document(run, seconds));
    }
  }

  private static JsonNode document(GenerationRun run, int seconds) {
    ObjectNode root = SimJson.object();
    root.put("text", run.answer(0).firstWords(run.length(0)));
    root.putObject("usage").put("type", "duration").put("seconds", seconds);
    return root;
  }

  private static int[] tokens(byte[] file) {
    int[] tokens = new int[Math.ceilDiv(file.length, BYTES_PER_TOKEN)];
    CRC32 crc = new CRC32();
    for (int i = 0; i < tokens.length; i++) {
      int from = i * BYTES_PER_TOKEN;
      crc.reset();
      crc.update(file, from, Math.min(BYTES_PER_TOKEN, file.length - from));
      tokens[i] = (int) (crc.getValue() >>> 1);
    }
    return tokens;
  }

  /** The events of a streamed transcription. */
  private record Events(GenerationRun run) implements StreamReply {
    @Override
    public void opened(SimEventStream out) {}

    @Override
    public void token(SimEventStream out, int choice, int index) {
      out.data(chunk(run.answer(0).text(index), "null"));
    }

    @Override
    public void ended(SimEventStream out, int choice) {
      out.data(chunk("", "\"" + run.finishReason() + "\""));
    }

    @Override
    public void closed(SimEventStream out) {
      out.data("[DONE]");
    }

    private String chunk(String text, String finish) {
      return "{\"id\":\""
          + run.id("trsc-")
          + "\",\"object\":\"transcription.chunk\",\"created\":"
          + run.created()
          + ",\"model\":"
          + SimJson.quote(run.request().model())
          + ",\"choices\":[{\"delta\":{\"content\":\""
          + text
          + "\"},\"finish_reason\":"
          + finish
          + "}]}";
    }
  }
}
