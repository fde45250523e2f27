package io.pointsman.it.split;

import static io.pointsman.it.split.SplitCluster.body;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Both requests of every protocol, byte for byte, compared with docs/pd-protocols.md: on every
 * split route, streamed and not.
 */
@Timeout(180)
@Tag("full")
final class PdStepBytesTest {
  private static final String NONCE = "(?<nonce>[0-9a-f]{32})";

  /** Both requests as received by the engines. */
  private record Sent(
      Logged prefill, Logged decode, SimEngine from, SimEngine to, List<String> answers) {
    Matcher prefillBody(PdStepRequest asked, String more) {
      return matched(body(prefill), asked.prefill(), more);
    }

    Matcher decodeBody(PdStepRequest asked, String more) {
      return matched(body(decode), asked.open(), more);
    }

    void idsStay(PdStepRequest asked) {
      assertThat(header(prefill, "x-request-id")).containsExactly(asked.id());
      assertThat(header(decode, "x-request-id")).containsExactly(asked.id());
    }

    /** The addresses in both ids, and the nonce after them. */
    Matcher pair() {
      assertThat(header(prefill, "x-request-id")).isEqualTo(header(decode, "x-request-id"));
      String id = header(prefill, "x-request-id").getFirst();
      Matcher matcher =
          Pattern.compile("___prefill_addr_(?<p>.+)___decode_addr_(?<d>.+)_" + NONCE).matcher(id);
      assertThat(matcher.matches()).as(id).isTrue();
      assertThat(matcher.group("p")).contains("127.0.0.1").contains(port(from));
      assertThat(matcher.group("d")).contains("127.0.0.1").contains(port(to));
      return matcher;
    }
  }

  private static Matcher matched(String body, String open, String more) {
    Matcher matcher = Pattern.compile(Pattern.quote(open) + more + "}").matcher(body);
    assertThat(matcher.matches()).as("%s%n(expected: %s, then %s)", body, open, more).isTrue();
    return matcher;
  }

  private static List<String> header(Logged request, String name) {
    return request.headers().stream()
        .filter(header -> header.getKey().equalsIgnoreCase(name))
        .map(header -> header.getValue())
        .toList();
  }

  private static String port(SimEngine engine) {
    return Integer.toString(engine.kvState().port());
  }

  private static String params(String members) {
    return ",\"kv_transfer_params\":\\{" + members + "}";
  }

  @ParameterizedTest
  @EnumSource
  void bothRequestsAreAsDocumented(KvConnector connector) throws IOException {
    int ranks = connector == KvConnector.LMCACHE ? 2 : 1;
    try (AnswerRelay relay = new AnswerRelay();
        PeerRig rig =
            new PeerRig(
                connector,
                1,
                1,
                true,
                o -> o.withLogged(1000).withRanks(ranks, 1),
                worker -> changes(connector, worker) ? relay.before(worker) : worker)) {
      if (needsTime(connector)) {
        rig.awaitSplit();
      }
      for (PdStepRequest asked : PdStepRequest.all()) {
        Sent sent = ask(rig, relay, asked);
        for (Logged step : List.of(sent.prefill(), sent.decode())) {
          assertThat(step.path()).isEqualTo(asked.route().path);
          assertThat(header(step, "authorization")).containsExactly("Bearer mine");
          assertThat(header(step, "x-tenant")).containsExactly("t1");
        }
        compare(connector, asked, sent);
      }
      rig.awaitNothingReserved();
    }
  }

  /** True if engines register, or NIXL's prefill reports that it pushes, before the first use. */
  private static boolean needsTime(KvConnector connector) {
    return switch (connector) {
      case LMCACHE, P2P_NCCL, MOONCAKE, MORIIO_READ, MORIIO_WRITE, NIXL_PUSH -> true;
      case NIXL, SGLANG, ORCHESTRATED, NONE -> false;
    };
  }

  /** True if a worker's responses must be compared with a request to another worker. */
  private static boolean changes(KvConnector connector, WorkerSpec worker) {
    return connector == KvConnector.ORCHESTRATED && worker.role() == Role.PREFILL;
  }

  private static Sent ask(PeerRig rig, AnswerRelay relay, PdStepRequest asked) throws IOException {
    SimEngine from = rig.prefillEngines().getFirst();
    SimEngine to = rig.decodeEngines().getFirst();
    List<Logged> prefills = from.requestLog();
    List<Logged> decodes = to.requestLog();
    HttpAnswer answer;
    try (RawClient client = RawClient.connect(rig.port())) {
      byte[] bytes = asked.body().getBytes(StandardCharsets.UTF_8);
      List<String> headers =
          List.of("x-request-id: " + asked.id(), "authorization: Bearer mine", "x-tenant: t1");
      answer = client.send("POST", asked.route().path, bytes, headers).read();
    }
    assertThat(answer.status()).as(answer.text() + rig.reasons()).isEqualTo(200);
    assertThat(answer.header("x-request-id")).isEqualTo(asked.id());
    assertThat(answer.text()).contains(asked.answered());
    return new Sent(since(prefills, from), since(decodes, to), from, to, relay.bodies());
  }

  private static Logged since(List<Logged> before, SimEngine engine) {
    List<Logged> now = new ArrayList<>(engine.requestLog());
    now.removeAll(before);
    assertThat(now).hasSize(1);
    return now.getFirst();
  }

  private static void compare(KvConnector connector, PdStepRequest asked, Sent sent) {
    switch (connector) {
      case NIXL -> nixl(asked, sent);
      case NIXL_PUSH -> nixlPush(asked, sent);
      case LMCACHE -> lmcache(asked, sent);
      case P2P_NCCL -> {
        String name = named(asked, sent.pair().group());
        sent.prefillBody(asked, name);
        sent.decodeBody(asked, name);
      }
      case MOONCAKE -> mooncake(asked, sent);
      case MORIIO_READ, MORIIO_WRITE -> moriio(asked, sent, connector == KvConnector.MORIIO_READ);
      case SGLANG -> {
        String members =
            ",\"bootstrap_host\":\"127\\.0\\.0\\.1\",\"bootstrap_port\":%s,\"bootstrap_room\":\\d{1,19}"
                .formatted(port(sent.from()));
        sent.decodeBody(asked, members);
        String stored = asked.route() == PdStepRequest.Route.RESPONSES ? ",\"store\":false}" : "}";
        assertThat(body(sent.prefill())).isEqualTo(body(sent.decode()).replaceFirst("}$", stored));
        sent.idsStay(asked);
      }
      case ORCHESTRATED -> {
        sent.prefillBody(asked, "");
        Matcher decode = sent.decodeBody(asked, ",\"disagg_prefill_resp\":(?<answer>\\{.+})");
        assertThat(decode.group("answer")).isIn(sent.answers());
        if (asked.route() != PdStepRequest.Route.RESPONSES) {
          // Each call has its own response: its id is the request's.
          assertThat(decode.group("answer")).contains(asked.id());
        }
        sent.idsStay(asked);
      }
      case NONE -> {
        sent.prefillBody(asked, "");
        sent.decodeBody(asked, "");
        sent.idsStay(asked);
      }
    }
  }

  private static final String KEEP =
      "\"do_remote_decode\":true,\"do_remote_prefill\":false,\"remote_engine_id\":null,"
          + "\"remote_block_ids\":null";

  private static final String KEEP_NIXL = KEEP + ",\"remote_host\":null,\"remote_port\":null";

  /** The simulated engines' description of reserved blocks. */
  private static String reserved(Sent sent) {
    return "\"do_remote_prefill\":true,\"do_remote_decode\":false,\"remote_block_ids\":\\[[\\d,\\[\\]]+],"
        + "\"remote_engine_id\":\"%s\",\"remote_request_id\":\"[^\"]+\","
            .formatted(Pattern.quote(sent.from().kvState().engineId()))
        + "\"remote_host\":\"127\\.0\\.0\\.1\",\"remote_port\":%s,\"tp_size\":1,\"remote_num_tokens\":\\d+"
            .formatted(port(sent.from()));
  }

  /**
   * The id by which engines find a hand-over with their request's id; for a response it is in the
   * body.
   */
  private static String named(PdStepRequest asked, String id) {
    boolean body = asked.route() == PdStepRequest.Route.RESPONSES;
    return body ? ",\"request_id\":\"" + response(id) + "\"" : "";
  }

  private static String response(String id) {
    return "resp_" + id + "-0";
  }

  private static void nixl(PdStepRequest asked, Sent sent) {
    Matcher prefill = sent.prefillBody(asked, params(KEEP_NIXL) + named(asked, NONCE));
    boolean body = asked.route() == PdStepRequest.Route.RESPONSES;
    String name = body ? named(asked, prefill.group("nonce")) : "";
    sent.decodeBody(asked, params(reserved(sent)) + name);
    sent.idsStay(asked);
  }

  private static void nixlPush(PdStepRequest asked, Sent sent) {
    assertThat(header(sent.prefill(), "x-request-id"))
        .isEqualTo(header(sent.decode(), "x-request-id"));
    String nonce = header(sent.prefill(), "x-request-id").getFirst();
    assertThat(nonce).matches("[0-9a-f]{32}").isNotEqualTo(asked.id());
    sent.prefillBody(asked, params(KEEP_NIXL) + named(asked, nonce));
    boolean body = asked.route() == PdStepRequest.Route.RESPONSES;
    String engine = Pattern.quote(sent.from().kvState().engineId());
    sent.decodeBody(
        asked,
        params(
                "\"do_remote_prefill\":true,\"do_remote_decode\":false,\"remote_engine_id\":\"%s\","
                        .formatted(engine)
                    + "\"remote_host\":\"127\\.0\\.0\\.1\",\"remote_port\":%s,\"tp_size\":1,"
                        .formatted(port(sent.from()))
                    + "\"remote_request_id\":\"%s\"".formatted(body ? response(nonce) : nonce))
            + named(asked, nonce));
  }

  private static void lmcache(PdStepRequest asked, Sent sent) {
    String init = sent.to().kvState().initPorts().toString().replace(" ", "");
    String alloc = sent.to().kvState().allocPorts().toString().replace(" ", "");
    assertThat(sent.to().kvState().initPorts()).hasSize(2);
    sent.prefillBody(
        asked,
        params(
            "\"disagg_spec\":\\{\"req_id\":\""
                + NONCE
                + "\",\"receiver_host\":\"127\\.0\\.0\\.1\",\"receiver_init_port\":"
                + Pattern.quote(init)
                + ",\"receiver_alloc_port\":"
                + Pattern.quote(alloc)
                + "}"));
    sent.decodeBody(asked, "");
    sent.idsStay(asked);
  }

  private static void mooncake(PdStepRequest asked, Sent sent) {
    Matcher prefill =
        sent.prefillBody(
            asked,
            params(
                "\"do_remote_decode\":true,\"do_remote_prefill\":false,\"transfer_id\":\"xfer-"
                    + NONCE
                    + "\""));
    sent.decodeBody(
        asked,
        params(
            "\"do_remote_decode\":false,\"do_remote_prefill\":true,\"transfer_id\":\"xfer-%s\","
                    .formatted(prefill.group("nonce"))
                + "\"remote_engine_id\":\"%s\",\"remote_bootstrap_addr\":\"http://127\\.0\\.0\\.1:%s\""
                    .formatted(
                        Pattern.quote(sent.from().kvState().engineId()), port(sent.from()))));
    assertThat(header(sent.prefill(), "x-data-parallel-rank")).containsExactly("0");
    assertThat(header(sent.decode(), "x-data-parallel-rank")).isEmpty();
    sent.idsStay(asked);
  }

  private static void moriio(PdStepRequest asked, Sent sent, boolean read) {
    Matcher pair = sent.pair();
    String nonce = pair.group("nonce");
    String name = named(asked, pair.group());
    String transfer = "\"transfer_id\":\"tx-" + nonce + "\"";
    String sizes = ",\"remote_dp_size\":1,\"remote_tp_size\":1";
    sent.prefillBody(asked, params(KEEP + "," + transfer + sizes) + name);
    String written =
        "\"do_remote_decode\":false,\"do_remote_prefill\":true,\"remote_engine_id\":null,"
            + "\"remote_block_ids\":null,";
    String notified = reserved(sent) + ",\"remote_notify_port\":" + port(sent.from()) + ",";
    sent.decodeBody(asked, params((read ? notified : written) + transfer + sizes) + name);
  }
}
