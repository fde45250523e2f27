package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The prompt listener gets prompts when they are sent. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class PromptsTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"reported\",\"messages\":[]}";

  private static void serves(ProxyRig rig, ScriptedEngine engine) {
    rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("reported")));
  }

  @Test
  void promptIsReportedOnceWithItsWorker() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      serves(rig, engine);
      rig.ask(ProxyRig.post(CHAT, "authorization: Bearer k\r\n", BODY));
      rig.ask(ProxyRig.post(CHAT, BODY));
      assertThat(rig.prompts)
          .containsExactly(
              new ProxyRig.Prompt(engine.id(), "Bearer k", BODY),
              new ProxyRig.Prompt(engine.id(), null, BODY));
    }
  }

  @Test
  void promptOfARetriedRequestIsReportedOnce() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine broken = ScriptedEngine.start(new Answer(500, "{}"));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      serves(rig, broken);
      serves(rig, whole);
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      assertThat(rig.prompts).containsExactly(new ProxyRig.Prompt(broken.id(), null, BODY));
    }
  }

  @Test
  void unwantedPromptIsNotCopied() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      serves(rig, engine);
      rig.ask(ProxyRig.post(CHAT, "{\"messages\":[]}"));
      assertThat(rig.prompts).isEmpty();
    }
  }

  @Test
  void bodyTooLargeToBufferIsNotReported() throws Exception {
    LimitSettings small = new LimitSettings(1 << 20, 1024, 256, 1000, 1 << 20);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS.withLimits(small));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      serves(rig, engine);
      String large = BODY.replace("[]", "[\"" + "x".repeat(2000) + "\"]");
      assertThat(rig.ask(ProxyRig.post(CHAT, large)).status()).isEqualTo(200);
      assertThat(rig.prompts).isEmpty();
    }
  }
}
