package io.pointsman.it.plane;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** nginx with a router that has TLS at its admin listener. */
@Timeout(300)
@Tag("full")
final class NginxTlsTest {
  private static final String CHAT = "{\"model\":\"m\",\"messages\":[]}";

  @TempDir Path directory;

  @Test
  void asksOverTlsAndVerifiesTheRouter() throws Exception {
    assumeThat(NginxProcess.installed()).as("nginx with its Lua module").isTrue();
    TestCertificate own = TestCertificate.make(directory, "own", "dns:localhost");
    TestCertificate other = TestCertificate.make(directory, "other", "dns:localhost");
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        RunningRouter router =
            RunningRouter.start(
                """
                listen: {port: 0}
                metrics: {port: 0}
                log: {level: error}
                admin: {on-client-port: false}
                admin-tls: {certificate-file: '%s', key-file: '%s'}
                workers: [{url: '%s', models: [m]}]
                """
                    .formatted(own.certificate(), own.key(), engine.url()))) {
      WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
      try (NginxProcess nginx = NginxProcess.startWithTls(router.adminPort(), own.certificate())) {
        WaitFor.until("decided by the router", WaitFor.LONG, () -> decided(nginx));
        for (int i = 0; i < 5; i++) {
          assertThat(decided(nginx)).as(nginx.output()).isTrue();
        }
        assertThat(nginx.output()).doesNotContain("pointsman: ");
      }
      try (NginxProcess nginx =
          NginxProcess.startWithTls(router.adminPort(), other.certificate())) {
        WaitFor.until(
            "the router is not trusted",
            WaitFor.LONG,
            () -> {
              assertThat(decided(nginx)).isFalse();
              return nginx.output().contains("a request to the router failed: TLS: ");
            });
      }
    }
  }

  /** True if the router chose the worker of a request. */
  private static boolean decided(NginxProcess nginx) {
    try {
      HttpAnswer answer = RawClient.call(nginx.port(), "POST", "/v1/chat/completions", CHAT);
      return answer.status() == 200 && answer.header("x-pointsman-worker") != null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
