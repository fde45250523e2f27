package io.pointsman.proxy.tls;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.interfaces.ECPrivateKey;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Private keys in the forms in which tools write them. */
class PemKeyTest {
  /** A key of OpenSSL in the older form, made for this test alone. */
  private static final String EC_OLD =
      "MHcCAQEEIO4fX3WXm41buAdc/uxAgxRh4lYNYhETt+qlAxDoVQheoAoGCCqGSM49"
          + "AwEHoUQDQgAE8pLkV6s/FrcVYoEhKi3ED7rJd7FdqYhQBGJjB025ky8FZA7Eodcu"
          + "Dg05BTOYBteV1fBbHe3nOANW0+64y8hpLA==";

  /** The same key in PKCS#8, encrypted by OpenSSL with the password "secret". */
  private static final String EC_ENCRYPTED =
      "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgYw0Ro1yHTnAICCAAw"
          + "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEADSQF5MTLaOXQaw1UI0r64EgZDq"
          + "/zDTmslcSFK6+HiQyMiHDFBXB8b8BXTDHcldeCI4cKRrbRZKg1xRKcUyinKy0I6m"
          + "LguURUbU9w80i+P6LtVJrzp0p+zstnrwLKYWn9yZCHnGDHhWaZI7VI/AkyQG4CCZ"
          + "cQ5ynLhK8I9W9PM7sHVoDsxhouEUY34B0Jo6uEQgdDZzWHOZfEgjZMbo/OAeQK4=";

  private static final String EC_PUBLIC =
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8pLkV6s/FrcVYoEhKi3ED7rJd7Fd"
          + "qYhQBGJjB025ky8FZA7EodcuDg05BTOYBteV1fBbHe3nOANW0+64y8hpLA==";

  private static PublicKey publicKey() throws GeneralSecurityException {
    return KeyFactory.getInstance("EC")
        .generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(EC_PUBLIC)));
  }

  private static byte[] pem(String kind, String base64) {
    String text = "text before\n-----BEGIN " + kind + "-----\n" + base64 + "\n-----END " + kind;
    return (text + "-----\n").getBytes(US_ASCII);
  }

  private static String base64(byte[] der) {
    return Base64.getMimeEncoder().encodeToString(der);
  }

  @ParameterizedTest
  @ValueSource(strings = {"RSA", "RSASSA-PSS", "EC", "Ed25519"})
  void readsPkcs8(String algorithm) throws Exception {
    KeyPair pair = KeyPairGenerator.getInstance(algorithm).generateKeyPair();
    byte[] file = pem("PRIVATE KEY", base64(pair.getPrivate().getEncoded()));
    assertThat(PemKey.read(file, pair.getPublic(), "")).isEqualTo(pair.getPrivate());
  }

  @Test
  void readsTheOlderFormOfRsa() throws Exception {
    KeyPair pair = KeyPairGenerator.getInstance("RSA").generateKeyPair();
    byte[] pkcs8 = pair.getPrivate().getEncoded();
    // The older form is the last element: after 4 bytes of the sequence, version and algorithm.
    byte[] old = Arrays.copyOfRange(pkcs8, 4 + 3 + 15 + 4, pkcs8.length);
    byte[] file = pem("RSA PRIVATE KEY", base64(old));
    assertThat(PemKey.read(file, pair.getPublic(), "")).isEqualTo(pair.getPrivate());
  }

  @Test
  void readsTheOlderFormOfEc() throws Exception {
    PrivateKey key = PemKey.read(pem("EC PRIVATE KEY", EC_OLD), publicKey(), "");
    assertThat(key.getAlgorithm()).isEqualTo("EC");
  }

  @Test
  void theOlderFormOfEncryptionIsNamed() {
    String lines = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,1C6A1C11F8B3\n\n";
    assertThatThrownBy(() -> PemKey.read(pem("EC PRIVATE KEY", lines + EC_OLD), publicKey(), "x"))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("older form (expected: PKCS#8");
  }

  @Test
  void readsEncryptedKeys() throws Exception {
    byte[] file = pem("ENCRYPTED PRIVATE KEY", EC_ENCRYPTED);
    PrivateKey decrypted = PemKey.read(file, publicKey(), "secret");
    PrivateKey plain = PemKey.read(pem("EC PRIVATE KEY", EC_OLD), publicKey(), "");
    assertThat(((ECPrivateKey) decrypted).getS()).isEqualTo(((ECPrivateKey) plain).getS());
    assertThatThrownBy(() -> PemKey.read(file, publicKey(), "wrong"))
        .isInstanceOf(GeneralSecurityException.class);
    assertThatThrownBy(() -> PemKey.read(file, publicKey(), ""))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("there is no password");
  }

  @Test
  void refusesKeysOfOthersAndFilesWithoutAKey() throws Exception {
    KeyPair other = KeyPairGenerator.getInstance("EC").generateKeyPair();
    assertThatThrownBy(() -> PemKey.read(pem("EC PRIVATE KEY", EC_OLD), other.getPublic(), ""))
        .isInstanceOf(GeneralSecurityException.class);
    assertThatThrownBy(() -> PemKey.read(pem("CERTIFICATE", EC_PUBLIC), other.getPublic(), ""))
        .hasMessage("there is no private key");
    for (int length = 0; length < EC_OLD.length(); length += 4) {
      byte[] cut = pem("EC PRIVATE KEY", EC_OLD.substring(0, length));
      assertThatThrownBy(() -> PemKey.read(cut, publicKey(), ""))
          .isInstanceOfAny(
              IOException.class, GeneralSecurityException.class, IllegalArgumentException.class);
    }
  }
}
