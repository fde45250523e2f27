package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.duration;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.text;

import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.pointsman.proxy.tls.TlsProvider;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Keys of TLS and HTTP/2 on the port for clients. */
public final class ListenerKeys {
  private static final ServerTlsSettings TLS = ServerTlsSettings.OFF;
  private static final Http2FrontSettings STREAMS = Http2FrontSettings.DEFAULTS;

  public static final Key<String> CERTIFICATE_FILE =
      Key.of(
          "tls.certificate-file",
          text("<file>", "a PEM file", true),
          TLS.certificateFile(),
          "PEM file with the certificate of the router and its chain. It switches on TLS 1.2 and"
              + " 1.3 for clients. The files of `tls.*` are read again when they change;"
              + " connections stay open.",
          "Empty: clients use clear text. If changed files cannot be used, the router logs the"
              + " reason and keeps the earlier ones.");

  public static final Key<String> KEY_FILE =
      Key.of(
          "tls.key-file",
          text("<file>", "a PEM file", true),
          TLS.keyFile(),
          "PEM file with the key of `tls.certificate-file`: PKCS#8, or the older form of RSA or EC"
              + " keys.",
          "Empty: the key is in the file of the certificate.");

  public static final Key<String> KEY_PASSWORD =
      Key.of(
              "tls.key-password",
              text("<password>", "a password", true),
              TLS.keyPassword(),
              "Password of an encrypted key in PKCS#8.",
              "Empty: the key is not encrypted. Write it into the file: other users of the machine"
                  + " can read flags.")
          .secret();

  public static final Key<String> CLIENT_CA_FILE =
      Key.of(
          "tls.client-ca-file",
          text("<file>", "a PEM file", true),
          TLS.clientCaFile(),
          "PEM file with the CA certificates of clients (mTLS).",
          "Empty: clients need no certificate.");

  public static final Key<ClientCertificates> CLIENT_CERTIFICATES =
      Key.of(
          "tls.client-certificates",
          constant(ClientCertificates.class),
          TLS.clientCertificates(),
          "Whether each client needs a certificate of a CA in `tls.client-ca-file`.",
          "`optional`: a client without one is served. An invalid one is always refused.");

  public static final Key<Duration> HANDSHAKE_TIMEOUT =
      Key.of(
          "tls.handshake-timeout",
          duration(Duration.ofMillis(1), Duration.ofHours(1)),
          TLS.handshakeTimeout(),
          "Maximum time of a TLS handshake. The connection of a slower client is closed.",
          "A low value refuses clients on slow networks.");

  public static final Key<TlsProvider> TLS_PROVIDER =
      Key.of(
          "tls.provider",
          constant(TlsProvider.class),
          ListenSettings.DEFAULTS.tlsProvider(),
          "Implementation of TLS for clients, for the admin listener and for requests to engines:"
              + " BoringSSL (`openssl`) or that of the JDK. `auto`: BoringSSL if it can be loaded"
              + " and supports the keys, else the JDK. The log names the choice.",
          "`openssl`: the router does not start if it cannot be loaded, or cannot use a"
              + " certificate. Probes and the metrics port always use the JDK.");

  public static final Key<Boolean> HTTP2_ENABLED =
      Key.of(
          "http2.enabled",
          bool(),
          STREAMS.enabled(),
          "Serve HTTP/2 on the port for clients, beside HTTP/1.1: with TLS by ALPN, in clear text"
              + " by prior knowledge (h2c).",
          "`false`: clients that speak HTTP/2 only get an error.");

  public static final Key<Boolean> HTTP2_UPGRADE =
      Key.of(
          "http2.upgrade",
          bool(),
          STREAMS.upgrade(),
          "Accept the upgrade of a connection in clear text from HTTP/1.1 to HTTP/2"
              + " (`Upgrade: h2c`), in its first request, if that has no body.",
          "`false`: such requests are served with HTTP/1.1. HTTP/2 has given this upgrade up (RFC"
              + " 9113), but Java's `HttpClient` asks for it.");

  public static final Key<Integer> HTTP2_MAX_STREAMS =
      Key.of(
          "http2.max-streams",
          integer(1, 10_000),
          STREAMS.maxStreams(),
          "Maximum number of requests in progress on one connection with HTTP/2. The client sends"
              + " further ones later.",
          "A low value slows down a proxy in front that uses few connections. Each stream can use"
              + " 128 KiB of memory before its request is read.");

  public static final Key<Integer> HTTP2_MAX_RESETS =
      Key.of(
          "http2.max-resets",
          integer(1, 1_000_000),
          STREAMS.maxResets(),
          "Maximum number of requests that a client cancels on one connection with HTTP/2 in 30"
              + " seconds. Above it the connection is closed, with all its requests.",
          "A low value closes connections of a proxy in front if many of its clients leave early."
              + " A high value lets one client cause much useless work.");

  private ListenerKeys() {}

  static List<Key<?>> ofTls() {
    List<Key<?>> all = new ArrayList<>(ServerTlsKeys.CLIENTS.all());
    all.add(TLS_PROVIDER);
    return all;
  }

  static List<Key<?>> ofHttp2() {
    return List.of(HTTP2_ENABLED, HTTP2_UPGRADE, HTTP2_MAX_STREAMS, HTTP2_MAX_RESETS);
  }
}
