package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.api.admin.KeyValidation.Answer;
import io.pointsman.api.keys.VerdictFields;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.Priority;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class KeyServersTest {
  private final KeyServers servers =
      new KeyServers(
          new SystemTicker(), (host, _) -> java.util.List.of(InetAddress.getAllByName(host)), "");
  private int status = 200;
  private volatile String body = "";

  /** The body, if it is no text; empty otherwise. */
  private volatile byte[] bytes = {};

  @SuppressWarnings("NullAway.Init")
  private HttpServer server;

  @BeforeEach
  void open() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          boolean known = "Bearer k".equals(exchange.getRequestHeaders().getFirst("authorization"));
          byte[] sent = bytes.length > 0 ? bytes : body.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(known ? status : 401, sent.length == 0 ? -1 : sent.length);
          exchange.getResponseBody().write(sent);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void close() {
    server.stop(0);
  }

  private String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort() + "/check";
  }

  @Test
  void aKeyIsConfirmedBy200() {
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.CONFIRMED);
    assertThat(servers.ask(url(), "other")).isEqualTo(Answer.REFUSED);
  }

  @ParameterizedTest
  @ValueSource(ints = {204, 302, 400, 401, 403, 404})
  void otherStatusesRefuseAKey(int status) {
    this.status = status;
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.REFUSED);
  }

  @ParameterizedTest
  @ValueSource(ints = {408, 429, 500, 502, 503, 504})
  void serverErrorsGiveNoVerdict(int status) {
    this.status = status;
    assertThat(servers.ask(url(), "k")).isNull();
  }

  @Test
  void anUnreachableServerGivesNoVerdict() {
    String url = url();
    server.stop(0);
    assertThat(servers.ask(url, "k")).isNull();
  }

  @Test
  void aConfirmationCanNameTheClient() {
    body =
        """
        {"pointsman": {"name": "team-a", "role": "client", "models": ["m"], "priority": "low",
          "limits": {"requests-per-minute": 5, "tokens-per-day": 0}}}
        """;
    ClientIdentity client = requireNonNull(requireNonNull(servers.ask(url(), "k")).client());
    assertThat(client.kind()).isEqualTo(ClientIdentity.Kind.CONFIRMED);
    assertThat(client.name()).isEqualTo("confirmed:team-a");
    assertThat(client.models()).containsExactly("m");
    assertThat(client.priority()).isEqualTo(Priority.LOW);
    assertThat(client.quotas().of("m", ClientQuota.NONE))
        .isEqualTo(new ClientQuota(0, 5, 0, 0, 0, 0));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "yes",
        "{",
        "{}",
        "{\"aud\":\"pointsman\"}",
        "{\"name\":\"x\",\"role\":\"admin\"}",
        "[1]",
        "<html>",
        "\u0000"
      })
  void aConfirmationWithoutTheObjectNamesNobody(String text) {
    body = text;
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.CONFIRMED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"pointsman\": ",
        "[{\"pointsman\": {\"name\": \"a\"}}]",
        "{\"x\": {\"pointsman\": {\"name\": \"a\"}}}",
        "{\"Pointsman\": {\"name\": \"a\"}}",
        "{\"pointsman\": {\"name\": \"a\", \"models\": [\"m\"]}, \"pointsman\": {\"name\": \"a\"}}",
        "{\"pointsman\": {\"name\": \"a\"}} x",
        "{\"pointsman\": 1}",
        "{\"pointsman\": null}",
        "{\"pointsman\": {}}",
        "{\"pointsman\": {\"name\": \"\"}}",
        "{\"pointsman\": {\"name\": \"a:b\"}}",
        "{\"pointsman\": {\"name\": \"a b\"}}",
        "{\"pointsman\": {\"name\": 7}}",
        "{\"pointsman\": {\"name\": \"a\", \"role\": \"admin\"}}",
        "{\"pointsman\": {\"name\": \"a\", \"role\": \"plane\"}}",
        "{\"pointsman\": {\"name\": \"a\", \"models\": []}}",
        "{\"pointsman\": {\"name\": \"a\", \"models\": \"m\"}}",
        "{\"pointsman\": {\"name\": \"a\", \"models\": [\" \"]}}",
        "{\"pointsman\": {\"name\": \"a\", \"priority\": \"urgent\"}}",
        "{\"pointsman\": {\"name\": \"a\", \"limits\": {\"requests\": 1}}}",
        "{\"pointsman\": {\"name\": \"a\", \"limits\": {\"concurrency\": -1}}}",
        "{\"pointsman\": {\"name\": \"a\", \"limits\": {\"concurrency\": \"1\"}}}",
        "{\"pointsman\": {\"name\": \"a\", \"limits\": {\"concurrency\": 99999999999}}}",
        "{\"pointsman\": {\"name\": \"a\", \"model\": \"m\"}}",
        "{\"pointsm\\u0061n\": {\"name\": \"a\", \"role\": \"admin\"}}",
        "{\"\\u0050ointsman\": {\"name\": \"a\"}}",
        "\u001f\u008b\b compressed",
      })
  void anInvalidDescriptionOfTheClientRefusesTheKey(String text) {
    body = text;
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.INVALID);
  }

  @Test
  void aByteOrderMarkHidesNoLimits() {
    body = "\uFEFF{\"pointsman\": {\"name\": \"a\", \"models\": [\"m\"]}}";
    ClientIdentity client = requireNonNull(requireNonNull(servers.ask(url(), "k")).client());
    assertThat(client.models()).containsExactly("m");
  }

  @Test
  void anEscapedNameOfTheObjectHidesNoLimits() {
    body = "{\"pointsm\\u0061n\": {\"name\": \"a\", \"models\": [\"m\"]}}";
    ClientIdentity client = requireNonNull(requireNonNull(servers.ask(url(), "k")).client());
    assertThat(client.models()).containsExactly("m");
  }

  @Test
  void invalidUnicodeRefusesTheKey() {
    // Jackson assumes UTF-32 by the first bytes; the fifth character is beyond Unicode.
    bytes = new byte[8 + 4 * "{\"pointsman\":1}".length()];
    int at = 0;
    for (char c : "{\"pointsman\":1}".toCharArray()) {
      bytes[at + 3] = (byte) c;
      at += 4;
    }
    bytes[at] = 0x7a;
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.INVALID);
  }

  /** A server could put the key into any member. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"role\": \"SECRET\"",
        "\"priority\": \"SECRET\"",
        "\"SECRET\": 1",
        "\"models\": \"SECRET\"",
        "\"limits\": {\"SECRET\": 1}",
        "\"limits\": {\"concurrency\": \"SECRET\"}",
        "SECRET",
      })
  void messagesNameFieldsAndNoValues(String member) {
    byte[] answer =
        ("{\"pointsman\": {\"name\": \"a\", " + member + "}}").getBytes(StandardCharsets.UTF_8);
    assertThatThrownBy(() -> VerdictFields.client(answer))
        .isInstanceOf(IllegalArgumentException.class)
        .message()
        .doesNotContainIgnoringCase("secret");
  }

  @Test
  void aLongAnswerWithoutTheObjectNamesNobody() {
    body = "{\"more\": \"" + "x".repeat(70_000) + "\"}";
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.CONFIRMED);
  }

  @Test
  void aDescriptionThatIsTooLongRefusesTheKey() {
    body = "{\"pointsman\": {\"name\": \"a\"}, \"more\": \"" + "x".repeat(70_000) + "\"}";
    assertThat(servers.ask(url(), "k")).isEqualTo(Answer.INVALID);
  }
}
