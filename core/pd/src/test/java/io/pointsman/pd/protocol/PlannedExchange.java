package io.pointsman.pd.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.body.SplitFactsReader;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.pd.plan.Continuation;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.plan.Terms;
import io.pointsman.proxy.wire.Header;
import io.pointsman.request.Endpoint;
import io.pointsman.request.splice.Edits;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Plans requests by a protocol and prints the request to each worker. */
final class PlannedExchange {
  static final String NONCE = "3f2a9c0b4d5e4f6a8b7c6d5e4f3a2b1c";
  static final String ID = "6f1c";

  final FakeClock clock = new FakeClock();
  final PeerTable peers = new PeerTable(16);
  final PdSetup setup;
  final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  final Worker prefill;
  final Worker decode;
  final Worker otherDecode;

  PlannedExchange(String protocol) {
    this(protocol, ProtocolSettings.DEFAULTS);
  }

  PlannedExchange(String protocol, ProtocolSettings settings) {
    setup = Protocols.create(protocol, peers, settings, clock::nanos);
    prefill = worker("p", "http://10.2.0.11:8100", Role.PREFILL, WorkerSpec.NO_RANK);
    decode = worker("d", "http://10.2.0.21:8200", Role.DECODE, WorkerSpec.NO_RANK);
    otherDecode = worker("e", "http://10.2.0.22:8200", Role.DECODE, WorkerSpec.NO_RANK);
  }

  Worker worker(String id, String url, Role role, int rank) {
    Worker worker = fleet.add(new WorkerSpec(id, url, role, Set.of(), rank, 0, Map.of()));
    worker.probed(true);
    return worker;
  }

  static PdRequest request(Endpoint endpoint, String body, @Nullable Conversation conversation) {
    String path =
        switch (endpoint) {
          case CHAT_COMPLETIONS -> "/v1/chat/completions";
          case COMPLETIONS -> "/v1/completions";
          case RESPONSES -> "/v1/responses";
          case MESSAGES -> "/v1/messages";
          case GENERATE -> "/generate";
          case TOKEN_GENERATE -> "/inference/v1/generate";
          default -> throw new IllegalArgumentException(endpoint.label());
        };
    byte[] bytes = body.getBytes(UTF_8);
    SplitFacts facts = new SplitFactsReader().read(endpoint, bytes, 0, bytes.length, true);
    PdEndpoint kind = facts.endpoint();
    if (kind == null) {
      throw new IllegalArgumentException(endpoint.label());
    }
    return new PdRequest(kind, path, ID, NONCE, conversation, facts);
  }

  PdPlan plan(Endpoint endpoint, String body) {
    return setup.protocol().plan(request(endpoint, body, null), prefill, decode);
  }

  PdPlan.Sequential sequential(Endpoint endpoint, String body) {
    return switch (plan(endpoint, body)) {
      case PdPlan.Sequential sequential -> sequential;
      case PdPlan.Concurrent concurrent -> throw new AssertionError(concurrent);
      case PdPlan.Unplanned unplanned -> throw new AssertionError(unplanned);
    };
  }

  PdPlan.Concurrent concurrent(Endpoint endpoint, String body) {
    return switch (plan(endpoint, body)) {
      case PdPlan.Concurrent concurrent -> concurrent;
      case PdPlan.Sequential sequential -> throw new AssertionError(sequential);
      case PdPlan.Unplanned unplanned -> throw new AssertionError(unplanned);
    };
  }

  PdPlan.Unplanned unplanned(Endpoint endpoint, String body) {
    return switch (plan(endpoint, body)) {
      case PdPlan.Unplanned unplanned -> unplanned;
      case PdPlan.Sequential sequential -> throw new AssertionError(sequential);
      case PdPlan.Concurrent concurrent -> throw new AssertionError(concurrent);
    };
  }

  /** The request to a worker: target, added headers, body. */
  static String log(PdStep step, String body) {
    StringBuilder out = new StringBuilder();
    out.append("POST ").append(step.worker().spec().url()).append(step.path()).append('\n');
    for (Header header : step.headers()) {
      out.append(header.name()).append(": ").append(header.value()).append('\n');
    }
    return out.append('\n').append(Edits.edited(body, step.edits())).append('\n').toString();
  }

  static PdStep decodeStep(Continuation continuation) {
    return switch (continuation) {
      case Continuation.Decode decode -> decode.step();
      case Continuation.Complete complete -> throw new AssertionError(complete);
    };
  }

  /**
   * Checks that blocks of a finished prefill stay reserved until it is cancelled or a short decode
   * request fetches them.
   */
  static void heldUnlessCancelled(PdPlan.Concurrent plan, Terms.Bond bond) {
    assertThat(plan.terms().release()).isEqualTo(Terms.Release.CANCEL_OR_SEND);
    assertThat(plan.terms().bond()).isEqualTo(bond);
    assertThat(plan.terms().lease()).isEqualTo(Duration.ofSeconds(30));
    assertThat(Edits.edited("{\"max_tokens\":9,\"stream\":true}", plan.terms().releasing()))
        .isEqualTo("{\"max_tokens\":1,\"stream\":false}");
  }

  static PrefillReply reply(String answer) {
    byte[] bytes = answer.getBytes(UTF_8);
    return switch (new ReplyReader(1 << 20).read(bytes, 0, bytes.length)) {
      case ReplyReader.Result.Read(PrefillReply read) -> read;
      case ReplyReader.Result.Unreadable(String reason) -> throw new AssertionError(reason);
    };
  }
}
