package io.pointsman.config;

import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.DecideKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.ServerTlsKeys;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.engine.env.FileProblem;
import io.pointsman.proxy.tls.ServerTlsSettings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Builds the settings of the admin listener from values. */
final class AccessRecords {
  private static final int LONGEST_FILE = 8192;

  private AccessRecords() {}

  /**
   * @throws ConfigException if others could reach the admin paths without a key
   */
  static AccessSettings from(ConfigValues values) {
    ServerTlsSettings tls =
        RecordGroup.group("admin-tls", () -> ProxyRecords.tls(values, ServerTlsKeys.ADMIN));
    AccessSettings access =
        RecordGroup.group(
            "admin",
            () ->
                new AccessSettings(
                    values.get(AccessKeys.HOST),
                    values.get(AccessKeys.PORT),
                    !values.has(AccessKeys.PORT),
                    tls,
                    key(values, AccessKeys.API_KEY, AccessKeys.API_KEY_FILE),
                    key(values, DecideKeys.API_KEY, DecideKeys.API_KEY_FILE),
                    values.get(AccessKeys.NAMES),
                    values.get(AccessKeys.ON_CLIENT_PORT),
                    values.get(AccessKeys.INSECURE),
                    values.get(AccessKeys.WORKER_NETWORKS),
                    values.get(AccessKeys.KEY_ORIGINS),
                    values.get(AccessKeys.ALLOWED_PATHS)));
    if (!access.insecure()) {
      refuseOpen(access, values);
    }
    return access;
  }

  private static void refuseOpen(AccessSettings access, ConfigValues values) {
    String spoe = values.get(DecideKeys.SPOE_ADDRESS);
    String spoeHost = spoe.substring(0, Math.max(0, spoe.lastIndexOf(':')));
    if (!spoe.isEmpty() && !AccessSettings.isLocal(spoeHost)) {
      throw new ConfigException(
          "decide.spoe-address: "
              + spoe
              + " (expected: 127.0.0.1, because this protocol has no key; or insecure-admin:"
              + " true)");
    }
    // With a file of keys, such a listener refuses all calls while the file has no administrator.
    if (!access.adminKey().isEmpty() || AuthRecords.from(values).ownKeys()) {
      return;
    }
    if (access.mutualTls() && !access.planeKey().isEmpty()) {
      throw new ConfigException(
          "decide.api-key: set beside admin-tls.client-ca-file, without a key for administrators"
              + " (expected: admin.api-key; otherwise every proxy with a certificate is an"
              + " administrator)");
    }
    if (!AccessSettings.isLocal(access.host()) && !access.mutualTls()) {
      throw new ConfigException(
          "admin.host: "
              + access.host()
              + " without a key (expected: admin.api-key, admin.api-key-file, auth.keys-file,"
              + " auth.keys-env, admin-tls.client-ca-file, 127.0.0.1, or insecure-admin: true)");
    }
    String clients = values.get(FrontKeys.HOST);
    if (access.onClientPort() && !AccessSettings.isLocal(clients)) {
      throw new ConfigException(
          "admin.on-client-port: true without a key, and listen.host is "
              + clients
              + " (expected: admin.api-key, admin.api-key-file, or insecure-admin: true)");
    }
    if (access.onClientPort() && !values.get(AdminKeys.VALIDATION_URLS).isEmpty()) {
      throw new ConfigException(
          "admin.on-client-port: true without a key, beside auth.validation-urls (expected:"
              + " admin.api-key, because a client's key is no administrator's; or"
              + " insecure-admin: true)");
    }
  }

  private static String key(ConfigValues values, Key<String> key, Key<String> file) {
    String name = values.get(file);
    if (name.isEmpty()) {
      return values.get(key);
    }
    if (!values.get(key).isEmpty()) {
      throw new ConfigException(
          file.path() + ": set beside " + key.path() + " (expected: one of them)");
    }
    String read;
    try (InputStream in = Files.newInputStream(Path.of(name))) {
      read = new String(in.readNBytes(LONGEST_FILE), StandardCharsets.UTF_8).strip();
    } catch (IOException | IllegalArgumentException e) {
      throw new ConfigException(
          file.path() + ": " + name + " cannot be read: " + FileProblem.of(e));
    }
    if (read.isEmpty()) {
      throw new ConfigException(file.path() + ": " + name + " is empty (expected: a key)");
    }
    return read;
  }
}
