package io.pointsman.testkit;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * A certificate that signs itself, with its key.
 *
 * @param certificate PEM file with the certificate
 * @param key PEM file with the key
 */
public record TestCertificate(KeyStore store, Path certificate, Path key) {
  private static final char[] PASSWORD = "changeit".toCharArray();

  /**
   * Makes a certificate with the JDK's keytool.
   *
   * @param directory receives the files
   * @param names subject alternative names, for example {@code dns:localhost,ip:127.0.0.1}
   */
  public static TestCertificate make(Path directory, String alias, String names)
      throws IOException, InterruptedException, GeneralSecurityException {
    return make(directory, alias, names, List.of("-keyalg", "EC"));
  }

  /**
   * Makes a certificate with the JDK's keytool.
   *
   * @param key options of keytool for the key
   */
  public static TestCertificate make(Path directory, String alias, String names, List<String> key)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path file = directory.resolve(alias + ".p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    List<String> command = new ArrayList<>(List.of(keytool.toString(), "-genkeypair"));
    command.addAll(key);
    command.addAll(
        List.of(
            "-alias",
            alias,
            "-dname",
            "CN=" + alias,
            "-ext",
            "san=" + names,
            "-storepass",
            String.valueOf(PASSWORD),
            "-keystore",
            file.toString()));
    Process made = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(made.getInputStream().readAllBytes(), UTF_8);
    if (made.waitFor() != 0) {
      throw new IOException("keytool: " + output);
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, PASSWORD);
    }
    return new TestCertificate(
        store,
        pem(
            directory.resolve(alias + ".crt"),
            "CERTIFICATE",
            store.getCertificate(alias).getEncoded()),
        pem(
            directory.resolve(alias + ".key"),
            "PRIVATE KEY",
            store.getKey(alias, PASSWORD).getEncoded()));
  }

  private static Path pem(Path file, String kind, byte[] content) throws IOException {
    String text = Base64.getMimeEncoder(64, "\n".getBytes(US_ASCII)).encodeToString(content);
    return Files.writeString(
        file, "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
  }

  /**
   * A server socket with this certificate, not bound.
   *
   * @param client certificate that clients must have; null: they need none
   */
  public ServerSocket serverSocket(@Nullable TestCertificate client)
      throws IOException, GeneralSecurityException {
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(store, PASSWORD);
    TrustManager @Nullable [] trusted = null;
    if (client != null) {
      KeyStore known = KeyStore.getInstance("PKCS12");
      known.load(null, null);
      known.setCertificateEntry("client", client.store.getCertificate(client.alias()));
      TrustManagerFactory managers =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      managers.init(known);
      trusted = managers.getTrustManagers();
    }
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(keys.getKeyManagers(), trusted, null);
    SSLServerSocket socket =
        (SSLServerSocket) context.getServerSocketFactory().createServerSocket();
    socket.setNeedClientAuth(client != null);
    return socket;
  }

  private String alias() throws GeneralSecurityException {
    return store.aliases().nextElement();
  }
}
