package io.pointsman.it.golden;

import io.pointsman.engine.fleet.HealthState;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.RefusedPort;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every error on the paths that the router serves itself. */
@Timeout(180)
final class GoldenOwnErrorsTest {
  private static final String PORTS =
      "listen: {port: 0}\nmetrics: {port: 0}\nlog: {level: error}\n";
  private static final String ROUTE = "/internal/route";
  private static final String DECIDE = "/v1/decide";

  private static ScriptedEngine engine(EngineScript script) throws IOException {
    return ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, script));
  }

  private static RunningRouter router(String settings, String url) {
    RunningRouter router = RunningRouter.start(PORTS + settings + "workers: [\"" + url + "\"]\n");
    WaitFor.until("well", WaitFor.LONG, () -> router.workers().getFirst().health().healthy());
    WaitFor.until("known", WaitFor.LONG, () -> !router.workers().getFirst().models().isEmpty());
    return router;
  }

  @Test
  void errorsOfTheWorkerApi() throws IOException {
    ErrorText text = new ErrorText();
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        RunningRouter router = router("", engine.url())) {
      int port = router.port();
      text.ask("nobody", port, "GET", "/workers/http://nobody:1", "");
      text.ask("no URL", port, "POST", "/workers", "{}");
      text.ask("no JSON", port, "POST", "/workers", "{");
      text.ask("wrong URL", port, "POST", "/workers", "{\"url\":\"nowhere\"}");
      text.ask("wrong role", port, "POST", "/workers", of(engine, "\"worker_type\":\"x\""));
      text.ask("wrong port", port, "POST", "/workers", of(engine, "\"bootstrap_port\":\"x\""));
      text.ask("other role", port, "POST", "/workers", of(engine, "\"worker_type\":\"decode\""));
      text.ask("no URL", port, "POST", "/add_worker", "");
      text.ask("wrong URL", port, "POST", "/add_worker?url=nowhere", "");
      text.ask("no URL", port, "POST", "/remove_worker", "");
    }
    GoldenFile.compare("errors-own-workers.txt", text.text());
  }

  private static String of(ScriptedEngine engine, String more) {
    return "{\"url\":\"" + engine.url() + "\"," + more + "}";
  }

  @Test
  void errorsOfAdministration() throws IOException {
    ErrorText text = new ErrorText();
    String settings = "admin: {refused-paths: [/sleep], ray-application: app}\n";
    try (ScriptedEngine engine = engine(new Faults.Answer(500, "{}"));
        RunningRouter router = router(settings, engine.url())) {
      int port = router.port();
      text.ask("model", port, "GET", "/v1/models/nobody's", "");
      text.ask("limit", port, "GET", "/decisions?limit=0", "");
      text.ask("refused path", port, "POST", "/sleep", "");
      text.ask("an engine fails", port, "POST", "/flush_cache", "");
      text.ask("no session", port, "POST", "/finish_session", "");
      text.ask("not there", port, "GET", "/scheduling/diagnostics", "");
    }
    GoldenFile.compare("errors-own-admin.txt", text.text());
  }

  @Test
  void statesThatAreNotWell() throws IOException {
    ErrorText text = new ErrorText();
    String settings = "admin: {ray-application: app}\nhealth: {answer: all}\n";
    try (RefusedPort refused = RefusedPort.open();
        RunningRouter router =
            RunningRouter.start(PORTS + settings + "workers: [\"" + refused.url() + "\"]\n")) {
      WaitFor.until(
          "the first probe has failed",
          WaitFor.LONG,
          () -> router.workers().getFirst().health().status() == HealthState.Status.UNHEALTHY);
      int port = router.port();
      text.ask("workers", port, "GET", "/health", "");
      text.ask("ready", port, "GET", "/readiness", "");
      text.ask("a model can be served", port, "GET", "/readyz", "");
      text.ask("one is well", port, "GET", "/-/healthz", "");
      int metrics = router.metricsPort();
      text.ask("metrics, path", metrics, "GET", "/nothing", "");
      text.ask("metrics, method", metrics, "POST", "/metrics", "");
    }
    try (RefusedPort refused = RefusedPort.open();
        RunningRouter router = RunningRouter.start(PORTS + "timeouts: {total: 300ms}\n")) {
      text.ask("slow", router.port(), "POST", "/add_worker?url=" + refused.url(), "");
    }
    GoldenFile.compare("errors-own-states.txt", text.text());
  }

  @Test
  void errorsOfDecisionsForOthers() throws IOException {
    ErrorText text = new ErrorText();
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        RunningRouter router = router("decide: {max-leases: 1}\n", engine.url())) {
      int port = router.port();
      for (String question :
          new String[] {
            "{",
            "[]",
            "{\"bdy\":{}}",
            "{\"ttl_ms\":0}",
            "{\"alternatives\":17}",
            "{\"body\":\"[1]\"}",
            "{\"body\":{\"model\":\"nobody's\"}}",
            "{\"exclude\":[\"127.0.0.1:" + engine.port() + "\"],\"body\":{\"model\":\"sim\"}}",
            "{\"lease\":\"short\",\"body\":{\"model\":\"sim\"}}"
          }) {
        text.ask(question.replaceAll("\\d{5}", "<port>"), port, "POST", DECIDE, question);
      }
      leases(text, port);
    }
    GoldenFile.compare("errors-own-decide.txt", text.text());
  }

  /** Holds and settles the one lease that the settings allow. */
  private static void leases(ErrorText text, int port) throws IOException {
    String mine = "0123456789012345678901234567890123456789";
    String question = "{\"lease\":\"" + mine + "\",\"body\":{\"model\":\"sim\"}}";
    String lease = "/v1/leases/" + mine;
    HttpAnswer held = RawClient.call(port, "POST", DECIDE, question);
    if (held.status() != 200) {
      throw new AssertionError(held.text());
    }
    text.ask("leased already", port, "POST", DECIDE, question);
    text.ask("too many", port, "POST", DECIDE, "{\"body\":{\"model\":\"sim\"}}");
    text.ask("no such word", port, "POST", lease + "/end", "");
    text.ask("no outcome", port, "POST", lease + "/settle", "{}");
    text.ask("wrong outcome", port, "POST", lease + "/settle", "{\"outcome\":\"good\"}");
    text.ask("unknown field", port, "POST", lease + "/settle", "{\"outcom\":\"failed\"}");
    text.ask("no JSON", port, "POST", lease + "/settle", "{");
    text.ask("no time", port, "POST", lease + "/renew", "{\"ttl_ms\":0}");
    text.ask("no prefill", port, "POST", lease + "/prefilled", "{\"outcome\":\"succeeded\"}");
    RawClient.call(port, "POST", lease + "/settle", "{\"outcome\":\"ignored\"}");
    text.ask("settled", port, "POST", lease + "/settle", "{\"outcome\":\"ignored\"}");
    text.ask("asked again", port, "POST", DECIDE, question);
    text.ask("unknown", port, "POST", "/v1/leases/none/confirm", "");
  }

  @Test
  void errorsOfTheRouteForProxies() throws IOException {
    ErrorText text = new ErrorText();
    String nobodys = ErrorText.chat("nobody's", "");
    String ours = ErrorText.chat("sim", "");
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        RunningRouter router = router("", engine.url())) {
      int port = router.port();
      text.ask("unknown model", port, "POST", ROUTE, nobodys);
      text.ask(
          "unknown model, with a lease",
          port,
          "POST",
          ROUTE,
          nobodys,
          "x-pointsman-lease-ttl: 1000");
      text.ask("wrong time", port, "POST", ROUTE, ours, "x-pointsman-lease-ttl: soon");
      text.ask(
          "wrong id",
          port,
          "POST",
          ROUTE,
          ours,
          "x-pointsman-lease-ttl: 9",
          "x-pointsman-lease: a");
    }
    try (RefusedPort refused = RefusedPort.open();
        RunningRouter router =
            RunningRouter.start(
                PORTS + "workers: [{url: \"" + refused.url() + "\", models: [sim]}]\n")) {
      int port = router.port();
      text.ask("nobody is well", port, "POST", ROUTE, ours);
      text.ask(
          "nobody is well, with a lease", port, "POST", ROUTE, ours, "x-pointsman-lease-ttl: 1000");
    }
    try (RunningRouter router = RunningRouter.start(PORTS + "decide: {enabled: false}\n")) {
      text.ask("turned off", router.port(), "POST", ROUTE, ours);
    }
    GoldenFile.compare("errors-own-route.txt", text.text());
  }
}
