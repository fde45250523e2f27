package io.pointsman.server.wiring;

import io.pointsman.api.admin.KeyValidation;
import io.pointsman.api.keys.VerdictFields;
import io.pointsman.control.health.EngineClient;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Queries servers about clients' keys. Status 200 confirms a key; any other refuses it, except
 * those about the state of the server.
 */
final class KeyServers implements KeyValidation.Question {
  private static final Logger log = LoggerFactory.getLogger(KeyServers.class);
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private final Ticker ticker;
  private final EngineClient.Names names;
  private final EngineTls tls;

  /**
   * @param names resolver of host names
   * @param systemCaFile PEM file with the system's CA certificates; empty: those of the JVM
   */
  KeyServers(Ticker ticker, EngineClient.Names names, String systemCaFile) {
    this.ticker = ticker;
    this.names = names;
    tls = new EngineTls(EngineTlsSettings.DEFAULTS, systemCaFile, TlsProvider.JDK);
  }

  @Override
  public KeyValidation.@Nullable Answer ask(String url, String key) {
    try {
      EngineClient client = new EngineClient(EngineKeys.of(key), ticker, names, tls);
      EngineClient.Answer answer = client.send(Role.REGULAR, "GET", url, PATIENCE);
      int status = answer.status();
      if (status == 200) {
        return confirmation(url, answer.body());
      }
      if (status < 500 && status != 408 && status != 429) {
        return KeyValidation.Answer.REFUSED;
      }
      log.warn("{} cannot validate a client's key: status {}", url, status);
    } catch (IOException | IllegalArgumentException e) {
      log.warn("{} cannot be asked to validate a client's key: {}", url, LogText.of(e));
    }
    return null;
  }

  /**
   * A key with an invalid description is refused, and no other server is asked: it could get more
   * rights than the server intends.
   */
  private static KeyValidation.Answer confirmation(String url, byte[] body) {
    try {
      return KeyValidation.Answer.confirmed(VerdictFields.client(body));
    } catch (IllegalArgumentException e) {
      log.warn(
          "{}: key refused, because the description of the client is invalid: {}",
          url,
          LogText.of(String.valueOf(e.getMessage())));
      return KeyValidation.Answer.INVALID;
    }
  }
}
