package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.proxy.upstream.EngineTlsSettings;
import java.util.List;

/** Keys of TLS to engines with {@code https} URLs. Workers can have values of their own. */
public final class EngineTlsKeys {
  private static final EngineTlsSettings DEFAULTS = EngineTlsSettings.DEFAULTS;

  public static final Key<String> CA_FILE =
      Key.of(
          "engine-tls.ca-file",
          text("<file>", "a PEM file", true),
          DEFAULTS.caFile(),
          "PEM file with the CA certificates that are trusted for engines, in place of the"
              + " system's. It applies to requests, probes and all other calls to engines.",
          "Empty: the file in the environment variable `SSL_CERT_FILE`, or else the JVM's"
              + " certificates. The router follows changes of the file.");

  public static final Key<String> CERTIFICATE_FILE =
      Key.of(
          "engine-tls.certificate-file",
          text("<file>", "a PEM file", true),
          DEFAULTS.certificateFile(),
          "PEM file with the router's certificate for engines that require one, and its chain.",
          "Empty: no certificate is sent. The router follows changes of the file.");

  public static final Key<String> KEY_FILE =
      Key.of(
          "engine-tls.key-file",
          text("<file>", "a PEM file", true),
          DEFAULTS.keyFile(),
          "PEM file with the key of `engine-tls.certificate-file`, in PKCS#8, not encrypted.",
          "Empty: the key is in the file of the certificate.");

  public static final Key<String> SERVER_NAME =
      Key.of(
          "engine-tls.server-name",
          text("<name>", "a host name", true),
          DEFAULTS.serverName(),
          "Name that certificates of engines must have. It is also sent as SNI.",
          "Empty: the host of the worker's URL. Set it if workers have addresses and one"
              + " certificate.");

  public static final Key<Boolean> INSECURE_SKIP_VERIFY =
      Key.of(
          "engine-tls.insecure-skip-verify",
          bool(),
          DEFAULTS.insecureSkipVerify(),
          "Accept any certificate of an engine. The log has a warning at the start and at each"
              + " reload.",
          "`true`: a computer in the network path can read and change prompts, responses and"
              + " keys.");

  private EngineTlsKeys() {}

  static List<Key<?>> all() {
    return List.of(CA_FILE, CERTIFICATE_FILE, KEY_FILE, SERVER_NAME, INSECURE_SKIP_VERIFY);
  }
}
