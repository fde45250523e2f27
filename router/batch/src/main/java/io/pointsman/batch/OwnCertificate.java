package io.pointsman.batch;

import io.pointsman.proxy.tls.ServerTls;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Trusts only the certificate of the router's own listener, with any names and from any issuer. The
 * file is read in each handshake. If it cannot be used, the last certificate counts, as for the
 * listener. Thread-safe.
 */
final class OwnCertificate extends X509ExtendedTrustManager {
  private volatile String file;

  /** Null if the listener has had no TLS. */
  private volatile @Nullable X509Certificate last;

  /**
   * @param file empty: the listener has no TLS
   * @throws IllegalArgumentException if the file has no certificate
   */
  OwnCertificate(String file) {
    this.file = file;
    last = file.isEmpty() ? null : ServerTls.certificate(file);
  }

  /** Uses another file from here on; empty: the listener has no TLS. */
  void use(String next) {
    file = next;
  }

  /** A context for connections to the listener. */
  SSLContext context() {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {this}, null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e);
    }
  }

  private void check(X509Certificate[] chain) throws CertificateException {
    if (chain.length > 0 && chain[0].equals(last)) {
      return;
    }
    X509Certificate found;
    try {
      found = ServerTls.certificate(file);
    } catch (IllegalArgumentException e) {
      throw new CertificateException(e);
    }
    if (chain.length == 0 || !chain[0].equals(found)) {
      throw new CertificateException("not the certificate of " + file);
    }
    last = found;
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
    check(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    check(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    check(chain);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
    throw new CertificateException("no server");
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    throw new CertificateException("no server");
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    throw new CertificateException("no server");
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return new X509Certificate[0];
  }
}
