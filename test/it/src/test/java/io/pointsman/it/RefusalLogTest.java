package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The log's lines about requests that the router refuses. */
class RefusalLogTest {
  @Test
  void anUnknownModelHasALine() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        RouterProcess router = RouterProcess.serve(List.of(engine.url()))) {
      askOnce(router, "POST", "/v1/completions", naming("one"), unserved("one"));
      askUntil(router, "POST", "/internal/route", naming("two"), unserved("two"));
      assertThat(router.output()).contains("WARN  RefusalJournal: request ");
    }
  }

  private static String naming(String model) {
    return "{\"model\":\"" + model + "\",\"prompt\":\"a\"}";
  }

  private static String unserved(String model) {
    return " refused (model_not_found): model " + model + " is not served (served: [m])";
  }

  @Test
  void aClosedPathHasALine() throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        RouterProcess router = RouterProcess.serve(List.of(engine.url()), "--admin-port", "0")) {
      askOnce(router, "GET", "/flush_cache?key=secret", "", closed("GET"));
      askUntil(router, "POST", "/flush_cache?key=secret", "", closed("POST"));
      assertThat(router.output()).doesNotContain("secret");
    }
  }

  private static String closed(String method) {
    return " refused (admin_path): "
        + method
        + " /flush_cache: /flush_cache is not served to clients.";
  }

  /** The first request that is refused for a reason has a line. */
  private static void askOnce(
      RouterProcess router, String method, String target, String body, String line) {
    assertThat(status(router, method, target, body)).isEqualTo(404);
    WaitFor.until(
        () -> "'" + line + "' in: " + router.output(),
        WaitFor.LONG,
        () -> router.output().contains(line));
  }

  /** Sends requests until one of them has a line: the log has one line a second for a reason. */
  private static void askUntil(
      RouterProcess router, String method, String target, String body, String line) {
    WaitFor.until(
        () -> "'" + line + "' in: " + router.output(),
        WaitFor.LONG,
        () -> {
          assertThat(status(router, method, target, body)).isEqualTo(404);
          return router.output().contains(line);
        });
  }

  private static int status(RouterProcess router, String method, String target, String body) {
    try {
      return RawClient.call(router.port(), method, target, body).status();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
