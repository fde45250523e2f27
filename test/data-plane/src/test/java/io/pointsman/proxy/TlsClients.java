package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.testkit.TestCertificate;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Clients with TLS. */
final class TlsClients {
  private TlsClients() {}

  /**
   * A context of a client.
   *
   * @param own its certificate; null: it has none
   */
  static SSLContext trusting(@Nullable TestCertificate own, @Nullable TestCertificate... trusted)
      throws Exception {
    KeyStore known = KeyStore.getInstance("PKCS12");
    known.load(null, null);
    for (TestCertificate each : trusted) {
      KeyStore store = requireNonNull(each).store();
      String alias = store.aliases().nextElement();
      known.setCertificateEntry(alias, store.getCertificate(alias));
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(known);
    KeyManager @Nullable [] keys = null;
    if (own != null) {
      KeyManagerFactory factory =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      factory.init(own.store(), "changeit".toCharArray());
      keys = factory.getKeyManagers();
    }
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys, managers.getTrustManagers(), null);
    return context;
  }

  /** A socket to a port of this machine. */
  static SSLSocket socket(
      int port, SSLContext context, List<String> versions, List<String> protocols)
      throws IOException {
    Socket plain = new Socket(InetAddress.getLoopbackAddress(), port);
    plain.setSoTimeout(60_000);
    SSLSocket socket =
        (SSLSocket) context.getSocketFactory().createSocket(plain, "localhost", port, true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setProtocols(versions.toArray(new String[0]));
    parameters.setApplicationProtocols(protocols.toArray(new String[0]));
    socket.setSSLParameters(parameters);
    return socket;
  }

  /** The subject of the server's certificate. */
  static String name(SSLSocket socket) throws SSLException {
    X509Certificate found = (X509Certificate) socket.getSession().getPeerCertificates()[0];
    return found.getSubjectX500Principal().getName();
  }
}
