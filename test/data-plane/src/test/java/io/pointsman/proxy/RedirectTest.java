package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Paths with slashes that do not count, and redirects of engines to themselves. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class RedirectTest {
  private ProxyRig rig;
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws Exception {
    LocalRoutes routes =
        LocalRoutes.builder()
            .on("GET", "/v1/models", request -> own(request.path()))
            .below("GET", "/pages/", request -> own(request.path()))
            .build();
    rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, routes);
    engine = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(engine.url());
  }

  private static LocalResponse own(String path) {
    return new LocalResponse(200, Map.of(), ("own " + path).getBytes(StandardCharsets.UTF_8));
  }

  @AfterEach
  void stop() throws Exception {
    rig.close();
  }

  private WireResponse get(String path) throws Exception {
    return rig.ask("GET " + path + " HTTP/1.1\r\nhost: router.example:1\r\n\r\n");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"/v1/chat/completions/", "//v1/chat//completions", "/v1/chat/completions///"})
  void engineGetsTheKnownPath(String path) throws Exception {
    WireResponse response = rig.ask(ProxyRig.post(path + "?a=//", "{\"model\":\"m\"}"));

    assertThat(response.status()).isEqualTo(200);
    assertThat(engine.awaitRequest().line()).isEqualTo("POST /v1/chat/completions?a=// HTTP/1.1");
  }

  @Test
  void bodiesOnSuchPathsAreChecked() throws Exception {
    assertThat(rig.ask(ProxyRig.post("/v1/completions/", "{")).status()).isEqualTo(400);
    assertThat(engine.requests()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/models/", "/v1//models", "//v1/models//?x=1"})
  void routersOwnPathIsAnsweredByTheRouter(String path) throws Exception {
    assertThat(get(path).text()).isEqualTo("own /v1/models");
    assertThat(engine.requests()).isEmpty();
  }

  @Test
  void pathsBelowAPrefixOfTheRouterAreUnchanged() throws Exception {
    assertThat(get("/pages/a/").text()).isEqualTo("own /pages/a/");
    assertThat(get("//pages/a").text()).isEqualTo("own /pages/a");
  }

  @Test
  void unknownPathsReachTheEngineUnchanged() throws Exception {
    get("//own//x/?a=/");

    assertThat(engine.awaitRequest().line()).isEqualTo("GET //own//x/?a=/ HTTP/1.1");
  }

  @Test
  void redirectToTheEngineStaysOnTheRouter() throws Exception {
    String to = engine.url() + "/own?a=1";
    engine.now(
        new Raw(
            "HTTP/1.1 307 Temporary Redirect\r\nLOCATION: "
                + to
                + "\r\nContent-Location:"
                + to
                + " \r\nx-other: "
                + to
                + "\r\ncontent-length: 0\r\n\r\n"));
    WireResponse response = get("/own/");

    assertThat(response.status()).isEqualTo(307);
    assertThat(response.values("location")).containsExactly("/own?a=1");
    assertThat(response.values("content-location")).containsExactly("/own?a=1");
    assertThat(response.header("x-other")).isEqualTo(to);
  }

  @Test
  void otherLocationsAreForwardedUnchanged() throws Exception {
    String location = "Location:  https://login.example/x ";
    String[] head = {"HTTP/1.1 302 Found", location, "content-length: 0", "", ""};
    engine.now(new Raw(String.join("\r\n", head)));
    WireResponse response = get("/own");

    assertThat(response.headers()).contains("Location:  https://login.example/x ");
  }

  @Test
  void errorsWithALocationAreRewrittenToo() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.1 503 No\r\nLocation: " + engine.url() + "/x\r\ncontent-length: 0\r\n\r\n"));

    assertThat(get("/own").values("location")).containsExactly("/x");
  }
}
