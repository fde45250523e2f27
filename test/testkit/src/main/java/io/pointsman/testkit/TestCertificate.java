package io.pointsman.testkit;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.math.BigInteger;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.NamedParameterSpec;
import java.security.spec.RSAKeyGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Date;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.security.auth.x500.X500Principal;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509ExtensionUtils;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.operator.ContentSigner;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.jspecify.annotations.Nullable;

/**
 * A certificate that signs itself, with its key.
 *
 * @param certificate PEM file with the certificate
 * @param key PEM file with the key
 */
public record TestCertificate(KeyStore store, Path certificate, Path key) {
  private static final char[] PASSWORD = "changeit".toCharArray();
  private static final Duration VALID = Duration.ofDays(90);

  /** Kind of a key, with the signature of its certificate. */
  public enum KeyKind {
    EC_P256("EC", new ECGenParameterSpec("secp256r1"), "SHA256withECDSA"),
    EC_P384("EC", new ECGenParameterSpec("secp384r1"), "SHA384withECDSA"),
    EC_P521("EC", new ECGenParameterSpec("secp521r1"), "SHA512withECDSA"),
    RSA("RSA", new RSAKeyGenParameterSpec(2048, RSAKeyGenParameterSpec.F4), "SHA256withRSA"),
    RSA_PSS(
        "RSASSA-PSS",
        new RSAKeyGenParameterSpec(2048, RSAKeyGenParameterSpec.F4),
        "SHA256withRSAandMGF1"),
    ED25519("Ed25519", NamedParameterSpec.ED25519, "Ed25519");

    private final String algorithm;

    @SuppressWarnings("ImmutableEnumChecker") // the specifications of keys have no setters
    private final AlgorithmParameterSpec parameters;

    private final String signature;

    KeyKind(String algorithm, AlgorithmParameterSpec parameters, String signature) {
      this.algorithm = algorithm;
      this.parameters = parameters;
      this.signature = signature;
    }

    private KeyPair pair() throws GeneralSecurityException {
      KeyPairGenerator generator = KeyPairGenerator.getInstance(algorithm);
      generator.initialize(parameters);
      return generator.generateKeyPair();
    }

    private ContentSigner signer(PrivateKey key) throws OperatorCreationException {
      JcaContentSignerBuilder builder = new JcaContentSignerBuilder(signature);
      if (this == RSA_PSS) {
        builder.setProvider(new BouncyCastleProvider()); // the JDK knows the name without a digest
      }
      return builder.build(key);
    }
  }

  /**
   * Makes a certificate with a key of the P-256 curve.
   *
   * @param directory receives the files
   * @param names subject alternative names, for example {@code dns:localhost,ip:127.0.0.1}
   */
  public static TestCertificate make(Path directory, String alias, String names)
      throws IOException, GeneralSecurityException {
    return make(directory, alias, names, KeyKind.EC_P256);
  }

  /** Makes a certificate with a key of this kind. */
  public static TestCertificate make(Path directory, String alias, String names, KeyKind kind)
      throws IOException, GeneralSecurityException {
    KeyPair pair = kind.pair();
    X509Certificate made = certificate("CN=" + alias, names, pair, kind);
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    store.setKeyEntry(alias, pair.getPrivate(), PASSWORD, new Certificate[] {made});
    return new TestCertificate(
        store,
        pem(directory.resolve(alias + ".crt"), "CERTIFICATE", made.getEncoded()),
        pem(directory.resolve(alias + ".key"), "PRIVATE KEY", pair.getPrivate().getEncoded()));
  }

  private static X509Certificate certificate(String name, String names, KeyPair pair, KeyKind kind)
      throws IOException, GeneralSecurityException {
    X500Principal subject = new X500Principal(name);
    Instant now = Instant.now();
    JcaX509v3CertificateBuilder builder =
        new JcaX509v3CertificateBuilder(
            subject,
            new BigInteger(64, new SecureRandom()),
            Date.from(now),
            Date.from(now.plus(VALID)),
            subject,
            pair.getPublic());
    GeneralName[] all =
        Arrays.stream(names.split(",", -1)).map(TestCertificate::name).toArray(GeneralName[]::new);
    builder.addExtension(Extension.subjectAlternativeName, false, new GeneralNames(all));
    builder.addExtension(
        Extension.subjectKeyIdentifier,
        false,
        new JcaX509ExtensionUtils().createSubjectKeyIdentifier(pair.getPublic()));
    try {
      return new JcaX509CertificateConverter()
          .getCertificate(builder.build(kind.signer(pair.getPrivate())));
    } catch (OperatorCreationException e) {
      throw new GeneralSecurityException(e);
    }
  }

  /** A name such as {@code dns:localhost}. */
  private static GeneralName name(String text) {
    String value = text.substring(text.indexOf(':') + 1);
    return new GeneralName(
        text.startsWith("ip:") ? GeneralName.iPAddress : GeneralName.dNSName, value);
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
