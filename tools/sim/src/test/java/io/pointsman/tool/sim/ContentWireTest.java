package io.pointsman.tool.sim;

import static io.pointsman.tool.sim.KvPair.COMPLETIONS;
import static io.pointsman.tool.sim.KvPair.decodeBody;
import static io.pointsman.tool.sim.KvPair.ok;
import static io.pointsman.tool.sim.KvPair.prefillBody;
import static io.pointsman.tool.sim.KvPair.refused;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** KV transfer without its own fields: by content, and by the whole prefill response. */
class ContentWireTest {
  @Test
  void decodeFindsKvByContentInTheSharedStore() throws IOException {
    KvOptions takes = KvOptions.of(KvRole.DECODE, KvConnector.NONE);
    try (SimEngine decode = SimEngine.start(SimConfig.instant().withKv(takes))) {
      String store = "127.0.0.1:" + decode.kvState().port();
      KvOptions gives = KvOptions.of(KvRole.PREFILL, KvConnector.NONE).withStore(store);
      try (SimEngine prefill = SimEngine.start(SimConfig.instant().withKv(gives))) {
        refused(decode, "prompt", COMPLETIONS, decodeBody());
        ok(prefill, COMPLETIONS, prefillBody());
        awaitBlocks(decode, prefill);
        ok(decode, COMPLETIONS, decodeBody());

        assertThat(decode.kvState().transfers().tokens()).isPositive();
        ObjectNode other = decodeBody().put("prompt", KvPair.WORDS.replace("nine", "nice"));
        refused(decode, "prompt", COMPLETIONS, other);
        refused(prefill, "max_tokens", COMPLETIONS, decodeBody());
        ObjectNode params = prefillBody();
        params.putObject("kv_transfer_params");
        refused(prefill, "kv_transfer_params", COMPLETIONS, params);
        assertThat(prefill.state().kv().pinned()).isZero();
      }
    }
  }

  /** The store is filled while prefill responds, so a third engine polls until it is filled. */
  private static void awaitBlocks(SimEngine decode, SimEngine prefill) throws IOException {
    String store = "127.0.0.1:" + decode.kvState().port();
    KvOptions asks = KvOptions.of(KvRole.DECODE, KvConnector.NONE).withStore(store);
    try (SimEngine third = SimEngine.start(SimConfig.instant().withKv(asks))) {
      long end = System.nanoTime() + 60_000_000_000L;
      while (KvPair.post(third, COMPLETIONS, decodeBody()).statusCode() != 200) {
        assertThat(System.nanoTime()).as("store filled by " + prefill.id()).isLessThan(end);
      }
    }
  }

  @Test
  void wholePrefillReplyIsTheHandOver() throws IOException {
    try (KvPair pair = new KvPair(KvConnector.ORCHESTRATED)) {
      JsonNode reply = ok(pair.prefill, COMPLETIONS, prefillBody());
      assertThat(reply.path("kv_transfer_params").path("remote_block_ids").isArray()).isTrue();
      ok(pair.decode, COMPLETIONS, decodeBody().set("disagg_prefill_resp", reply));
      pair.settled(1);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "disagg_prefill_resp, null, disagg_prefill_resp",
    "disagg_prefill_resp, 5, disagg_prefill_resp",
    "disagg_prefill_resp, {}, disagg_prefill_resp.id",
    "kv_transfer_params, {}, kv_transfer_params"
  })
  void decodeNoticesAnInvalidPrefillReply(String field, String value, String named)
      throws IOException {
    try (KvPair pair = new KvPair(KvConnector.ORCHESTRATED)) {
      ObjectNode body = decodeBody();
      body.set("disagg_prefill_resp", ok(pair.prefill, COMPLETIONS, prefillBody()));
      body.set(field, SimWireClient.json(value));
      refused(pair.decode, named, COMPLETIONS, body);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "choices, null, disagg_prefill_resp.choices",
    "usage, {}, disagg_prefill_resp.usage.prompt_tokens",
    "kv_transfer_params, {}, disagg_prefill_resp.kv_transfer_params.do_remote_prefill",
    "kv_transfer_params, null, disagg_prefill_resp"
  })
  void decodeNoticesWrongPartsOfTheReply(String field, String value, String named)
      throws IOException {
    try (KvPair pair = new KvPair(KvConnector.ORCHESTRATED)) {
      ObjectNode reply = (ObjectNode) ok(pair.prefill, COMPLETIONS, prefillBody());
      reply.set(field, SimWireClient.json(value));
      refused(pair.decode, named, COMPLETIONS, decodeBody().set("disagg_prefill_resp", reply));
    }
  }

  @Test
  void orchestratedPrefillTakesNoParameters() throws IOException {
    try (KvPair pair = new KvPair(KvConnector.ORCHESTRATED)) {
      ObjectNode body = prefillBody().set("kv_transfer_params", SimJson.object());
      refused(pair.prefill, "kv_transfer_params", COMPLETIONS, body);
      refused(pair.prefill, "stream", COMPLETIONS, prefillBody().put("stream", true));
      ObjectNode again = prefillBody().set("disagg_prefill_resp", SimJson.object());
      refused(pair.prefill, "disagg_prefill_resp", COMPLETIONS, again);
    }
  }

  @Test
  void directRequestsAreServedIfPermitted() throws IOException {
    try (KvPair pair = new KvPair(KvConnector.NONE, options -> options.withDirect(true))) {
      ok(pair.decode, COMPLETIONS, decodeBody());
      assertThat(pair.decode.kvState().steps().direct()).isEqualTo(1);
      assertThat(pair.decode.kvState().fieldErrors()).isEmpty();
    }
  }
}
