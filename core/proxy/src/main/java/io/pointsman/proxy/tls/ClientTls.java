package io.pointsman.proxy.tls;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * TLS of a program that calls a router.
 *
 * @param caFile PEM file with the CA certificates of the router; empty: those of the JVM
 * @param certificateFile PEM file with the program's certificate and its chain; empty: none
 * @param keyFile PEM file with its key; empty: in the certificate's file
 */
public record ClientTls(String caFile, String certificateFile, String keyFile) {
  /** The CA certificates of the JVM, without a certificate of the program. */
  public static final ClientTls OF_JVM = new ClientTls("", "", "");

  private static final char[] NO_PASSWORD = {};

  public ClientTls {
    if (certificateFile.isEmpty() && !keyFile.isEmpty()) {
      throw new IllegalArgumentException(
          "keyFile: " + keyFile + " without a certificate (expected: certificateFile)");
    }
  }

  /**
   * Reads the files.
   *
   * @param group first part of the names of the files in messages
   * @throws IllegalArgumentException if they cannot be used
   */
  public SSLContext context(String group) {
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys(group), trusted(group), null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalArgumentException(group + ": " + e.getMessage(), e);
    }
  }

  private TrustManager @Nullable [] trusted(String group)
      throws GeneralSecurityException, IOException {
    if (caFile.isEmpty()) {
      return null;
    }
    String name = group + "-ca-file";
    KeyStore known = empty();
    int number = 0;
    for (X509Certificate each :
        ServerTls.certificates(name, caFile, ServerTls.bytes(name, caFile))) {
      known.setCertificateEntry("ca" + number++, each);
    }
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(known);
    return managers.getTrustManagers();
  }

  private KeyManager @Nullable [] keys(String group) throws GeneralSecurityException, IOException {
    if (certificateFile.isEmpty()) {
      return null;
    }
    String name = group + "-certificate-file";
    X509Certificate[] chain =
        ServerTls.certificates(name, certificateFile, ServerTls.bytes(name, certificateFile));
    String file = keyFile.isEmpty() ? certificateFile : keyFile;
    String nameOfKey = group + "-key-file";
    PrivateKey key;
    try {
      key = PemKey.read(ServerTls.bytes(nameOfKey, file), chain[0].getPublicKey(), "");
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalArgumentException(
          nameOfKey
              + ": "
              + file
              + ": "
              + e.getMessage()
              + " (expected: a PEM file with the key of the certificate)",
          e);
    }
    KeyStore own = empty();
    own.setKeyEntry("own", key, NO_PASSWORD, chain);
    KeyManagerFactory managers =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    managers.init(own, NO_PASSWORD);
    return managers.getKeyManagers();
  }

  private static KeyStore empty() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    return store;
  }
}
