package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.List;

/** A scripted prefill and a scripted decode worker, and the router. */
final class ScriptedPair implements AutoCloseable {
  private final ScriptedEngine prefill;
  private final ScriptedEngine decode;
  private final RunningRouter router;

  /**
   * @param settings lines below {@code disaggregation}, each indented by two
   */
  ScriptedPair(String settings, String prefillAnswer, EngineScript decodeAnswer)
      throws IOException {
    prefill =
        ScriptedEngine.start(new Faults.Healthy("sim", new Faults.Answer(200, prefillAnswer)));
    decode = ScriptedEngine.start(new Faults.Healthy("sim", decodeAnswer));
    router =
        RunningRouter.start(
            "workers:\n"
                + "  - {url: \"%s\", role: prefill}\n".formatted(prefill.url())
                + "  - {url: \"%s\", role: decode}\n".formatted(decode.url())
                + "listen: {port: 0}\nmetrics: {port: 0}\nlog: {level: warn}\n"
                + "disaggregation:\n  cached-share: 2\n"
                + settings);
    WaitFor.until(
        () -> "both workers are well: " + router.workers(),
        WaitFor.LONG,
        () ->
            router.allHealthy()
                && router.serving(Role.PREFILL, "sim") == 1
                && router.serving(Role.DECODE, "sim") == 1);
  }

  HttpAnswer post(String path, String body) throws IOException {
    HttpAnswer answer = RawClient.call(router.port(), "POST", path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
    return answer;
  }

  int port() {
    return router.port();
  }

  /** All requests of the prefill worker, probes included. */
  List<EngineRequest> prefillRequests() {
    return prefill.requests();
  }

  /** All requests of the decode worker, probes included. */
  List<EngineRequest> decodeRequests() {
    return decode.requests();
  }

  /** The only body that the prefill worker got. */
  String prefillBody() {
    List<EngineRequest> asked = posts(prefill);
    assertThat(asked).hasSize(1);
    return asked.getFirst().bodyText();
  }

  /** The bodies that the decode worker got. */
  List<String> decodeBodies() {
    return posts(decode).stream().map(EngineRequest::bodyText).toList();
  }

  private static List<EngineRequest> posts(ScriptedEngine engine) {
    return engine.requests().stream().filter(r -> r.line().startsWith("POST ")).toList();
  }

  @Override
  public void close() throws IOException {
    try (prefill;
        decode) {
      router.close();
    }
  }
}
