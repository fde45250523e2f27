package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Keys of TLS of one listener. */
public record ServerTlsKeys(
    Key<String> certificateFile,
    Key<String> keyFile,
    Key<String> keyPassword,
    Key<String> clientCaFile,
    Key<ClientCertificates> clientCertificates,
    Key<Duration> handshakeTimeout) {
  private static final ServerTlsSettings OFF = ServerTlsSettings.OFF;

  /** TLS of the port for clients. */
  public static final ServerTlsKeys CLIENTS =
      new ServerTlsKeys(
          ListenerKeys.CERTIFICATE_FILE,
          ListenerKeys.KEY_FILE,
          ListenerKeys.KEY_PASSWORD,
          ListenerKeys.CLIENT_CA_FILE,
          ListenerKeys.CLIENT_CERTIFICATES,
          ListenerKeys.HANDSHAKE_TIMEOUT);

  /** TLS of the admin listener. */
  public static final ServerTlsKeys ADMIN =
      of(
          "admin-tls",
          "the admin listener",
          "callers",
          "Empty: callers need no certificate. With this file and `admin-tls.client-certificates:"
              + " required`, a listener beyond the loopback needs no key.");

  /** TLS of the metrics port. */
  public static final ServerTlsKeys METRICS =
      of(
          "metrics-tls",
          "the metrics port",
          "scrapers",
          "Empty: scrapers need no certificate. Probes of Kubernetes have none.");

  private static ServerTlsKeys of(
      String group, String listener, String callers, String withoutCertificates) {
    return new ServerTlsKeys(
        Key.of(
            group + ".certificate-file",
            text("<file>", "a PEM file", true),
            OFF.certificateFile(),
            "PEM file with the certificate of "
                + listener
                + " and its chain. It switches on TLS there, as `tls.certificate-file` does for"
                + " clients.",
            "Empty: " + listener + " uses clear text."),
        Key.of(
            group + ".key-file",
            text("<file>", "a PEM file", true),
            OFF.keyFile(),
            "PEM file with the key of `" + group + ".certificate-file`.",
            "Empty: the key is in the file of the certificate."),
        Key.of(
                group + ".key-password",
                text("<password>", "a password", true),
                OFF.keyPassword(),
                "Password of an encrypted key in PKCS#8.",
                "Empty: the key is not encrypted.")
            .secret(),
        Key.of(
            group + ".client-ca-file",
            text("<file>", "a PEM file", true),
            OFF.clientCaFile(),
            "PEM file with the CA certificates of " + callers + " (mTLS).",
            withoutCertificates),
        Key.of(
            group + ".client-certificates",
            constant(ClientCertificates.class),
            OFF.clientCertificates(),
            "Whether each caller needs a certificate of a CA in `" + group + ".client-ca-file`.",
            "`optional`: a caller without one is served. An invalid one is always refused."),
        Key.of(
            group + ".handshake-timeout",
            duration(Duration.ofMillis(1), Duration.ofHours(1)),
            OFF.handshakeTimeout(),
            "Maximum time of a TLS handshake.",
            "A low value refuses callers on slow networks."));
  }

  /** All keys, in order of documentation. */
  public List<Key<?>> all() {
    List<Key<?>> all = new ArrayList<>(filesAndCallers());
    all.add(handshakeTimeout);
    return all;
  }

  /** The keys of a listener that limits the time of handshakes by itself. */
  List<Key<?>> filesAndCallers() {
    return List.of(certificateFile, keyFile, keyPassword, clientCaFile, clientCertificates);
  }
}
