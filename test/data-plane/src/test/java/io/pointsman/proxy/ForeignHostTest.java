package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Web pages with a name that resolves to the address of the router. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class ForeignHostTest {
  private static final String BODY = "{\"model\":\"m\",\"messages\":[]}";

  /** Each caller needs a key, and has it. */
  private static final class Keys implements CallerCheck {
    @Override
    public Verdict known(@Nullable String authorization) {
      return authorization == null ? Verdict.REFUSED : Verdict.ADMITTED;
    }

    @Override
    public Verdict ask(String authorization) {
      return Verdict.ADMITTED;
    }
  }

  @SuppressWarnings("NullAway.Init") // started at the begin of each test
  private ProxyRig rig;

  @SuppressWarnings("NullAway.Init") // started at the begin of each test
  private ScriptedEngine engine;

  private void start(String... names) throws Exception {
    rig =
        new ProxyRig(
            Transport.AUTO,
            ProxySettings.DEFAULTS.withListen(
                ListenSettings.DEFAULTS.with().hostNames(List.of(names)).build()));
    engine = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(engine.url());
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  /** {@code PORT} becomes the port of the listener. */
  private String request(String line, String host, String more) {
    return line
        + " HTTP/1.1\r\nhost: "
        + host.replace("PORT", rig.port() + "")
        + "\r\n"
        + more
        + "content-length: "
        + (line.startsWith("POST") ? BODY.length() : 0)
        + "\r\n\r\n"
        + (line.startsWith("POST") ? BODY : "");
  }

  private int ask(String host) throws Exception {
    return rig.ask(request("POST /v1/chat/completions", host, "")).status();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST /v1/chat/completions",
        "GET /v1/models",
        "GET /v1/responses/resp_1",
        "GET /v1/files",
        "OPTIONS /v1/chat/completions",
      })
  void aPageUnderItsOwnNameGetsNothing(String line) throws Exception {
    start();
    for (String host :
        List.of("evil.example:PORT", "EVIL.example.:PORT", "a.localhost.evil.io:PORT")) {
      WireResponse refused = rig.ask(request(line, host, "origin: http://evil.example\r\n"));
      assertThat(refused.status()).as(host).isEqualTo(403);
      assertThat(refused.text()).contains("\"code\":\"origin_refused\"", "listen.host-names");
    }
    assertThat(engine.requests()).isEmpty();
  }

  @Test
  void aWebSocketOfSuchAPageIsRefused() throws Exception {
    start();
    String upgrade = "connection: upgrade\r\nupgrade: websocket\r\n";
    assertThat(rig.ask(request("GET /v1/realtime?model=m", "evil.example:PORT", upgrade)).status())
        .isEqualTo(403);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost:PORT",
        "127.0.0.1:PORT",
        "127.0.0.1",
        "[::1]:PORT",
        "10.0.0.7:PORT",
        "gpu1:PORT",
        "a.localhost:PORT",
        "host.docker.internal:PORT",
        "gpu1.local:PORT",
      })
  void localNamesAndAddressesAreServed(String host) throws Exception {
    start();
    assertThat(ask(host)).isEqualTo(200);
  }

  /** Its own port differs from the router's. */
  @ParameterizedTest
  @ValueSource(strings = {"chat.example", "chat.example:443", "chat.example:99999999999", ""})
  void aProxyInFrontMayPassItsPublicName(String host) throws Exception {
    start();
    assertThat(ask(host)).isEqualTo(200);
  }

  @Test
  void listedNamesAreServedAndAllOthersAreNot() throws Exception {
    start("Chat.example");
    rig.callers = new Keys();
    String key = "authorization: Bearer k\r\n";
    for (String host : List.of("chat.example", "CHAT.example:PORT", "chat.example:443")) {
      assertThat(rig.ask(request("POST /v1/chat/completions", host, key)).status()).isEqualTo(200);
    }
    for (String host : List.of("evil.example", "evil.example:PORT", "chat.example.evil.io")) {
      assertThat(rig.ask(request("POST /v1/chat/completions", host, key)).status()).isEqualTo(403);
    }
  }

  /** A page has no key. */
  @Test
  void withKeysEachNameIsServed() throws Exception {
    start();
    rig.callers = new Keys();
    String key = "authorization: Bearer k\r\n";
    assertThat(
            rig.ask(request("POST /v1/chat/completions", "gpu1.corp.example:PORT", key)).status())
        .isEqualTo(200);
    assertThat(ask("gpu1.corp.example:PORT")).isEqualTo(401);
  }
}
