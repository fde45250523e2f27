package io.pointsman.tool.bench.split;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.bench.wire.Wire;
import io.pointsman.tool.demo.PdEngines;
import io.pointsman.tool.sim.kv.KvState;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Random;

/** A client that sends requests to the router, or itself to one prefill and one decode engine. */
final class HandClient implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final Wire router;
  private final Wire prefill;
  private final Wire decode;
  private final KvState prefillSide;
  private final Random random;
  private int serial;

  HandClient(PdBenchRig rig, Random random) throws IOException {
    PdEngines fleet = rig.fleet();
    this.random = random;
    router = new Wire(rig.url(), PATIENCE);
    prefill = new Wire(fleet.prefills().getFirst().url(), PATIENCE);
    decode = new Wire(fleet.decodes().getFirst().url(), PATIENCE);
    prefillSide = fleet.prefills().getFirst().kvState();
  }

  /** Sends a request to the router. */
  Timed routed(int prompt, int answer) throws IOException {
    return stream(router, request(prompt, answer));
  }

  /** Sends an unsplit request to the decode engine. */
  Timed whole(int prompt, int answer) throws IOException {
    return stream(decode, request(prompt, answer));
  }

  private static Timed stream(Wire wire, ObjectNode request) throws IOException {
    String body = request.toString();
    long begin = System.nanoTime();
    send(wire, body);
    return Timed.of(begin, wire.read());
  }

  /**
   * Sends both requests of NIXL. The decode request contains the transfer parameters of the prefill
   * response.
   */
  Timed nixl(int prompt, int answer) throws IOException {
    ObjectNode asked = request(prompt, answer);
    ObjectNode first = prefillOf(asked);
    ObjectNode keep = first.putObject("kv_transfer_params");
    keep.put("do_remote_decode", true).put("do_remote_prefill", false);
    keep.putNull("remote_engine_id").putNull("remote_block_ids");
    keep.putNull("remote_host").putNull("remote_port");
    String body = first.toString();
    long begin = System.nanoTime();
    send(prefill, body);
    JsonNode handOver = JSON.readTree(prefill.read().body()).path("kv_transfer_params");
    send(decode, asked.set("kv_transfer_params", handOver).toString());
    return Timed.of(begin, decode.read());
  }

  /**
   * Sends both requests of Mooncake.
   *
   * @param atOnce true to send both together; false to send the decode request after the prefill
   *     response
   */
  Timed mooncake(int prompt, int answer, boolean atOnce) throws IOException {
    ObjectNode asked = request(prompt, answer);
    String transfer = "bench-" + serial++;
    ObjectNode first = prefillOf(asked);
    first
        .putObject("kv_transfer_params")
        .put("do_remote_decode", true)
        .put("do_remote_prefill", false)
        .put("transfer_id", transfer);
    asked
        .putObject("kv_transfer_params")
        .put("do_remote_decode", false)
        .put("do_remote_prefill", true)
        .put("transfer_id", transfer)
        .put("remote_engine_id", prefillSide.engineId())
        .put("remote_bootstrap_addr", "http://127.0.0.1:" + prefillSide.port());
    String prefillBody = first.toString();
    String decodeBody = asked.toString();
    long begin = System.nanoTime();
    send(prefill, prefillBody, "x-data-parallel-rank: 0");
    if (!atOnce) {
      prefill.read();
    }
    send(decode, decodeBody);
    Wire.TimedReply reply = decode.read();
    if (atOnce) {
      prefill.read();
    }
    return Timed.of(begin, reply);
  }

  private static void send(Wire wire, String body, String... headers) throws IOException {
    wire.send("/v1/completions", body.getBytes(StandardCharsets.UTF_8), headers);
  }

  /** Each prompt is new and therefore in no cache. */
  private ObjectNode request(int prompt, int answer) {
    return JSON.createObjectNode()
        .put("model", PdBenchRig.MODEL)
        .put("prompt", SessionClient.words(prompt, random))
        .put("max_tokens", answer)
        .put("stream", true);
  }

  private static ObjectNode prefillOf(ObjectNode asked) {
    return asked.deepCopy().put("max_tokens", 1).put("stream", false);
  }

  @Override
  public void close() throws IOException {
    router.close();
    prefill.close();
    decode.close();
  }
}
