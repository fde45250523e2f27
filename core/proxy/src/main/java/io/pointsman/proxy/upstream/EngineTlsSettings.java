package io.pointsman.proxy.upstream;

import io.pointsman.engine.fleet.HostPort;
import java.util.List;
import java.util.Map;

/**
 * Settings of TLS connections to workers. Labels of a worker replace single values.
 *
 * @param caFile PEM file with the trusted CA certificates; empty: those of the system
 * @param certificateFile PEM file with the client certificate and its chain; empty: none
 * @param keyFile PEM file with the key of the certificate in PKCS#8, not encrypted; empty: in the
 *     certificate's file
 * @param serverName name that the worker's certificate must have, sent as SNI; empty: the host of
 *     its URL
 * @param insecureSkipVerify true to accept any certificate
 */
public record EngineTlsSettings(
    String caFile,
    String certificateFile,
    String keyFile,
    String serverName,
    boolean insecureSkipVerify) {

  public static final EngineTlsSettings DEFAULTS = new EngineTlsSettings("", "", "", "", false);

  private static final String CA_FILE = "tls-ca-file";
  private static final String CERTIFICATE_FILE = "tls-certificate-file";
  private static final String KEY_FILE = "tls-key-file";
  private static final String SERVER_NAME = "tls-server-name";
  private static final String INSECURE = "tls-insecure-skip-verify";

  /** Labels of workers with values of their own. */
  public static final List<String> LABELS =
      List.of(CA_FILE, CERTIFICATE_FILE, KEY_FILE, SERVER_NAME, INSECURE);

  public EngineTlsSettings {
    if (certificateFile.isEmpty() && !keyFile.isEmpty()) {
      throw new IllegalArgumentException(
          "keyFile: set without certificateFile (expected: both, or certificateFile alone)");
    }
    HostPort name = serverName.isEmpty() ? null : HostPort.of(serverName);
    if (!serverName.isEmpty() && (name == null || name.port() != HostPort.NONE)) {
      throw new IllegalArgumentException("serverName: " + serverName + " (expected: a host name)");
    }
  }

  /**
   * These settings with the values of a worker's labels in place. A worker's certificate has the
   * key of the same worker.
   *
   * @throws IllegalArgumentException if a label has an invalid value
   */
  public EngineTlsSettings with(Map<String, String> labels) {
    if (LABELS.stream().noneMatch(labels::containsKey)) {
      return this;
    }
    String insecure = labels.getOrDefault(INSECURE, Boolean.toString(insecureSkipVerify));
    if (!insecure.equals("true") && !insecure.equals("false")) {
      throw new IllegalArgumentException(INSECURE + ": " + insecure + " (expected: true or false)");
    }
    String ownKey = labels.getOrDefault(KEY_FILE, "");
    boolean ownCertificate = labels.containsKey(CERTIFICATE_FILE);
    return new EngineTlsSettings(
        labels.getOrDefault(CA_FILE, caFile),
        labels.getOrDefault(CERTIFICATE_FILE, certificateFile),
        ownCertificate || !ownKey.isEmpty() ? ownKey : keyFile,
        labels.getOrDefault(SERVER_NAME, serverName),
        insecure.equals("true"));
  }
}
