package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Protocols with engines that report their data by ZeroMQ or by a bootstrap server. */
@Timeout(180)
@Tag("full")
final class SplitPeersTest {
  @ParameterizedTest
  @EnumSource(
      value = KvConnector.class,
      names = {"LMCACHE", "MOONCAKE", "MORIIO_READ", "MORIIO_WRITE", "P2P_NCCL"})
  void configuredEnginesHandOverByTheirReportedData(KvConnector connector) throws IOException {
    try (PeerRig rig = new PeerRig(connector, 1, 2, true)) {
      rig.awaitSplit();
      long before = rig.prefills();
      for (boolean stream : new boolean[] {false, true}) {
        for (String path : List.of("/v1/completions", "/v1/chat/completions")) {
          String body = path.contains("chat") ? chat(stream) : PeerRig.fresh(stream);
          HttpAnswer answer = rig.ask(path, body);
          assertThat(answer.status())
              .as(path + ": " + answer.text() + rig.reasons())
              .isEqualTo(200);
          assertThat(answer.text()).contains(stream ? "data: [DONE]" : "\"completion_tokens\":5");
        }
      }
      assertThat(rig.prefills()).isEqualTo(before + 4);
      rig.awaitNothingReserved();
    }
  }

  private static String chat(boolean stream) {
    return "{\"model\":\"sim\",\"messages\":[{\"role\":\"user\",\"content\":\"%d %s\"}],\"max_tokens\":5,\"stream\":%b}"
        .formatted(PeerRig.nextCall(), PeerRig.PROMPT, stream);
  }

  @ParameterizedTest
  @EnumSource(
      value = KvConnector.class,
      names = {"MORIIO_READ", "MORIIO_WRITE", "P2P_NCCL"})
  void registeredEnginesNeedNoConfiguration(KvConnector connector) {
    try (PeerRig rig = new PeerRig(connector, 2, 1, false)) {
      assertThat(rig.workers())
          .extracting(worker -> worker.spec().role())
          .containsExactlyInAnyOrder(Role.PREFILL, Role.PREFILL, Role.DECODE);
      rig.awaitSplit();
      rig.awaitNothingReserved();
    }
  }

  @Test
  void anEngineLeavesWithoutRegistrationAndReturnsWithIt() {
    try (PeerRig rig = new PeerRig(KvConnector.P2P_NCCL, 2, 1, false)) {
      SimEngine gone = rig.prefillEngines().getFirst();
      gone.stop();
      rig.awaitWorkers(2);
      gone.restart();
      rig.awaitWorkers(3);
      rig.awaitSplit();
    }
  }

  @Test
  void theIdOfARestartedPrefillEngineIsReadAgain() {
    try (PeerRig rig = new PeerRig(KvConnector.MOONCAKE, 1, 1, true)) {
      rig.awaitSplit();
      SimEngine engine = rig.prefillEngines().getFirst();
      String before = engine.kvState().engineId();
      engine.stop();
      WaitFor.until(
          () -> "it is out",
          WaitFor.LONG,
          () -> rig.workers().stream().anyMatch(worker -> !worker.health().healthy()));
      engine.restart();
      assertThat(engine.kvState().engineId()).isNotEqualTo(before);
      rig.awaitWorkers(2);
      rig.awaitSplit();
    }
  }
}
