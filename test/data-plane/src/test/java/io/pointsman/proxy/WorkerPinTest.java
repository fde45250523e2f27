package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests of clients that choose their worker. */
@Timeout(60)
class WorkerPinTest {
  private ProxyRig rig;
  private ScriptedEngine first;
  private ScriptedEngine second;

  @BeforeEach
  void start() throws Exception {
    rig = new ProxyRig(Transport.AUTO);
    rig.pins = uri -> uri.contains("?id=") ? uri.substring(uri.indexOf('=') + 1) : null;
    first = rig.closing(ScriptedEngine.start(Answer.ok()));
    second = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(WorkerSpec.of(first.url()));
    rig.worker(WorkerSpec.of(second.url()));
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  @Test
  void onlyTheChosenWorkerServes() throws Exception {
    for (int i = 0; i < 3; i++) {
      WireResponse response =
          rig.ask(ProxyRig.post("/v1/completions?id=" + second.id(), "{\"prompt\":\"a\"}"));
      assertThat(response.status()).isEqualTo(200);
    }
    assertThat(second.requests()).hasSize(3);
    assertThat(first.requests()).isEmpty();
  }

  @Test
  void anUnknownChoiceIsRefused() throws Exception {
    WireResponse response = rig.ask(ProxyRig.post("/v1/completions?id=none", "{\"prompt\":\"a\"}"));
    assertThat(response.status()).isEqualTo(503);
    assertThat(first.requests()).isEmpty();
    assertThat(second.requests()).isEmpty();
  }
}
