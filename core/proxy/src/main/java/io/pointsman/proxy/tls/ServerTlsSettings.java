package io.pointsman.proxy.tls;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * TLS of a listener.
 *
 * @param certificateFile PEM file with the certificate and its chain; empty: no TLS
 * @param keyFile PEM file with the key; empty: in the certificate's file
 * @param keyPassword password of an encrypted key; empty: the key is not encrypted
 * @param clientCaFile PEM file with the CA certificates of clients; empty: clients need none
 * @param clientCertificates whether clients need a certificate of these CAs
 * @param handshakeTimeout maximum time of a handshake
 */
public record ServerTlsSettings(
    String certificateFile,
    String keyFile,
    String keyPassword,
    String clientCaFile,
    ClientCertificates clientCertificates,
    Duration handshakeTimeout) {

  /** Whether clients need a certificate. */
  public enum ClientCertificates {
    /** A client without a certificate is refused. */
    REQUIRED,
    /** A client may have none. An invalid one is refused. */
    OPTIONAL
  }

  public static final ServerTlsSettings OFF =
      new ServerTlsSettings("", "", "", "", ClientCertificates.REQUIRED, Duration.ofSeconds(10));

  public ServerTlsSettings {
    requireNonNull(clientCertificates, "clientCertificates");
    if (!handshakeTimeout.isPositive()) {
      throw new IllegalArgumentException(
          "handshakeTimeout: " + handshakeTimeout + " (expected: > 0)");
    }
    if (certificateFile.isEmpty()) {
      refuse("keyFile", keyFile);
      refuse("keyPassword", keyPassword.isEmpty() ? "" : "***");
      refuse("clientCaFile", clientCaFile);
    }
  }

  private static void refuse(String name, String value) {
    if (!value.isEmpty()) {
      throw new IllegalArgumentException(
          name + ": " + value + " while there is no certificate (expected: certificateFile)");
    }
  }

  /** True if the listener uses TLS. */
  public boolean enabled() {
    return !certificateFile.isEmpty();
  }

  /** The file with the key. */
  String fileOfKey() {
    return keyFile.isEmpty() ? certificateFile : keyFile;
  }

  /** Without the password. */
  @Override
  public String toString() {
    return "ServerTlsSettings[certificateFile="
        + certificateFile
        + ", keyFile="
        + keyFile
        + ", clientCaFile="
        + clientCaFile
        + ", clientCertificates="
        + clientCertificates
        + ", handshakeTimeout="
        + handshakeTimeout
        + "]";
  }
}
