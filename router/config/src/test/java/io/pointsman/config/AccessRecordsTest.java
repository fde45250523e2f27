package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.settings.AccessSettings;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules for listeners that others reach. */
class AccessRecordsTest {
  @TempDir Path directory;

  private static AccessSettings access(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("test", yaml)).access();
  }

  @Test
  void theAdminListenerIsLocalByDefault() {
    AccessSettings standard = access("{}");

    assertThat(standard).isEqualTo(AccessSettings.DEFAULTS);
    assertThat(AccessSettings.isLocal(standard.host())).isTrue();
    assertThat(standard.onClientPort()).isFalse();
    assertThat(standard.orAnyPort()).isTrue();
    assertThat(access("admin: {port: 29001}").orAnyPort()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "admin: {host: 0.0.0.0}",
        "admin: {host: 10.0.0.1}",
        "admin: {host: '::'}",
        "admin: {host: 127.0.0.1.evil.example}",
        "{admin: {host: 0.0.0.0}, admin-tls: {certificate-file: a}}",
        "{admin: {host: 0.0.0.0}, admin-tls: {certificate-file: a, client-ca-file: b,"
            + " client-certificates: optional}}",
        "{listen: {host: 0.0.0.0}, admin: {on-client-port: true}}",
        "{listen: {host: 0.0.0.0}, admin: {on-client-port: true},"
            + " admin-tls: {certificate-file: a, client-ca-file: b}}",
        "{auth: {validation-urls: ['http://k/']}, admin: {on-client-port: true}}",
        "decide: {spoe-address: '0.0.0.0:9000'}",
      })
  void aListenerForOthersNeedsAKey(String yaml) {
    assertThatThrownBy(() -> access(yaml))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("insecure-admin");
    assertThatCode(() -> PointsmanConfig.from(insecure(yaml))).doesNotThrowAnyException();
  }

  /** The requests of batches go through the port of clients. */
  @Test
  void batchesHaveNoCertificateOfAClient() {
    String tls = "tls: {certificate-file: a, client-ca-file: b, client-certificates: %s}\n";
    String batches = "batch: {enabled: true}\n";

    assertThatThrownBy(() -> access(batches + tls.formatted("required")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("batch")
        .hasMessageContaining("tls.client-certificates");
    assertThatCode(() -> access(batches + tls.formatted("optional"))).doesNotThrowAnyException();
    assertThatCode(() -> access(tls.formatted("required"))).doesNotThrowAnyException();
  }

  private static ConfigValues insecure(String yaml) {
    return YamlConfig.parse("test", yaml).set(AccessKeys.INSECURE, true);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "admin: {host: 0.0.0.0, api-key: k}",
        "{auth: {keys-file: keys.yaml}, admin: {host: 0.0.0.0}}",
        "{auth: {keys-file: keys.yaml}, admin: {on-client-port: true}}",
        "{auth: {keys-env: KEYS}, admin: {host: 0.0.0.0}}",
        "{listen: {host: 0.0.0.0}, admin: {on-client-port: true, api-key: k}}",
        "{auth: {validation-urls: ['http://k/']}, admin: {on-client-port: true, api-key: k}}",
        "{admin: {host: 0.0.0.0}, admin-tls: {certificate-file: a, client-ca-file: b}}",
        "admin: {host: '::1'}",
        "admin: {host: localhost, on-client-port: true}",
        "decide: {spoe-address: '127.0.0.1:9000'}",
      })
  void withAKeyOrLocallyItStarts(String yaml) {
    assertThatCode(() -> access(yaml)).doesNotThrowAnyException();
  }

  /** Else the certificate of a plane would open all admin paths. */
  @Test
  void certificatesDoNotMakeAPlaneAnAdministrator() {
    String tls = "admin-tls: {certificate-file: a, client-ca-file: b}";
    assertThatThrownBy(() -> access("{decide: {api-key: plane}, " + tls + "}"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("admin.api-key");
    assertThatCode(() -> access("{admin: {api-key: k}, decide: {api-key: plane}, " + tls + "}"))
        .doesNotThrowAnyException();
  }

  @Test
  void keysAreReadFromFiles() throws Exception {
    Path file = Files.writeString(directory.resolve("key"), " s3cret\n");

    AccessSettings access =
        access("{admin: {api-key-file: '%s'}, decide: {api-key: plane}}".formatted(file));

    assertThat(access.adminKey()).isEqualTo("s3cret");
    assertThat(access.planeKey()).isEqualTo("plane");
    assertThat(access.toString()).doesNotContain("s3cret", "plane");
  }

  @Test
  void aKeyIsGivenOnceAndUsable() throws Exception {
    Path empty = Files.writeString(directory.resolve("empty"), "\n");
    Path missing = directory.resolve("missing");

    assertRefused("admin: {api-key: k, api-key-file: '%s'}".formatted(empty), "one of them");
    assertRefused("admin: {api-key-file: '%s'}".formatted(empty), "is empty");
    assertRefused("admin: {api-key-file: '%s'}".formatted(missing), "cannot be read");
    assertRefused("admin: {api-key: 'a b'}", "without spaces");
    assertRefused("{admin: {api-key: k}, decide: {api-key: k}}", "another key");
  }

  private static void assertRefused(String yaml, String reason) {
    assertThatThrownBy(() -> access(yaml))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(reason);
  }

  @ParameterizedTest
  @CsvSource({"v1/models", "''", "API"})
  void allowedPathsAreChecked(String path) {
    assertThatThrownBy(() -> access("paths: {allow: ['" + path + "']}"))
        .isInstanceOf(ConfigException.class);
  }
}
