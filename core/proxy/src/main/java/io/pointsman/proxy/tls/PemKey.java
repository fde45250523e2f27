package io.pointsman.proxy.tls;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.interfaces.RSAKey;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.PSSParameterSpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/** Reader of private keys in PEM: PKCS#8, also encrypted, and the older forms of RSA and EC. */
final class PemKey {
  private static final Pattern KEY =
      Pattern.compile(
          "-----BEGIN ([A-Z ]*)PRIVATE KEY-----([\\s\\S]*?)-----END [A-Z ]*PRIVATE KEY-----");

  /** The algorithm rsaEncryption with its parameters, in DER. */
  private static final byte[] RSA = {
    0x30,
    0x0d,
    0x06,
    0x09,
    0x2a,
    (byte) 0x86,
    0x48,
    (byte) 0x86,
    (byte) 0xf7,
    0x0d,
    0x01,
    0x01,
    0x01,
    0x05,
    0x00
  };

  /** The object identifier of ecPublicKey, in DER. */
  private static final byte[] EC = {0x06, 0x07, 0x2a, (byte) 0x86, 0x48, (byte) 0xce, 0x3d, 2, 1};

  private static final String PSS = "RSASSA-PSS";
  private static final PSSParameterSpec USUAL_PSS =
      new PSSParameterSpec("SHA-256", "MGF1", MGF1ParameterSpec.SHA256, 32, 1);

  private static final byte[] VERSION = {0x02, 0x01, 0x00};
  private static final int SEQUENCE = 0x30;
  private static final int OCTETS = 0x04;

  /** Tag of the curve in the older form of EC keys. */
  private static final int CURVE = 0xa0;

  private PemKey() {}

  /**
   * Reads the first key.
   *
   * @param owner the key of the certificate, which must belong to the result
   * @param password empty if the key is not encrypted
   */
  static PrivateKey read(byte[] file, PublicKey owner, String password)
      throws GeneralSecurityException, IOException {
    Matcher found = KEY.matcher(new String(file, ISO_8859_1));
    if (!found.find()) {
      throw new IOException("there is no private key");
    }
    if (found.group(2).contains("DEK-Info")) {
      throw new IOException(
          "the key is encrypted in the older form (expected: PKCS#8, see openssl pkcs8 -topk8)");
    }
    byte[] der = Base64.getMimeDecoder().decode(found.group(2));
    PKCS8EncodedKeySpec spec =
        switch (found.group(1)) {
          case "" -> new PKCS8EncodedKeySpec(der);
          case "ENCRYPTED " -> decrypted(der, password);
          case "RSA " -> new PKCS8EncodedKeySpec(tagged(SEQUENCE, VERSION, RSA, octets(der)));
          case "EC " -> new PKCS8EncodedKeySpec(ofCurve(der));
          default -> throw new IOException("the key is a " + found.group(1) + "PRIVATE KEY");
        };
    PrivateKey key = KeyFactory.getInstance(owner.getAlgorithm()).generatePrivate(spec);
    if (!belongTogether(key, owner)) {
      throw new GeneralSecurityException("the key is not that of the certificate");
    }
    return key;
  }

  private static PKCS8EncodedKeySpec decrypted(byte[] der, String password)
      throws GeneralSecurityException, IOException {
    if (password.isEmpty()) {
      throw new IOException("the key is encrypted, and there is no password");
    }
    EncryptedPrivateKeyInfo info = new EncryptedPrivateKeyInfo(der);
    // PBES2 names its algorithms in the parameters.
    String scheme = String.valueOf(info.getAlgParameters());
    String algorithm = scheme.startsWith("PBE") ? scheme : info.getAlgName();
    Cipher cipher = Cipher.getInstance(algorithm);
    cipher.init(
        Cipher.DECRYPT_MODE,
        SecretKeyFactory.getInstance(algorithm)
            .generateSecret(new PBEKeySpec(password.toCharArray())),
        info.getAlgParameters());
    return info.getKeySpec(cipher);
  }

  /** The key of the older form, which contains its curve, as PKCS#8. */
  private static byte[] ofCurve(byte[] der) throws IOException {
    int at = content(der, 0);
    while (at < der.length && (der[at] & 0xff) != CURVE) {
      at = end(der, at);
    }
    if (at >= der.length) {
      throw new IOException("the EC key does not name its curve");
    }
    byte[] curve = Arrays.copyOfRange(der, content(der, at), end(der, at));
    return tagged(SEQUENCE, VERSION, tagged(SEQUENCE, EC, curve), octets(der));
  }

  /** Index of the content of the DER element at {@code from}. */
  private static int content(byte[] der, int from) throws IOException {
    if (from + 2 > der.length) {
      throw new IOException("the key is cut");
    }
    int length = der[from + 1] & 0xff;
    return from + 2 + (length < 0x80 ? 0 : length - 0x80);
  }

  private static int end(byte[] der, int from) throws IOException {
    int content = content(der, from);
    int length = der[from + 1] & 0xff;
    if (length >= 0x80) {
      length = 0;
      for (int i = from + 2; i < content && i < der.length; i++) {
        length = (length << 8) | (der[i] & 0xff);
      }
    }
    if (length < 0 || length > der.length - content) {
      throw new IOException("the key is cut");
    }
    return content + length;
  }

  private static byte[] octets(byte[] content) {
    return tagged(OCTETS, content);
  }

  private static byte[] tagged(int tag, byte[]... parts) {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      content.writeBytes(part);
    }
    int length = content.size();
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(tag);
    if (length < 0x80) {
      out.write(length);
    } else {
      out.write(0x82);
      out.write(length >> 8);
      out.write(length);
    }
    out.writeBytes(content.toByteArray());
    return out.toByteArray();
  }

  private static boolean belongTogether(PrivateKey key, PublicKey owner)
      throws GeneralSecurityException {
    Signature made = signature(owner);
    made.initSign(key);
    made.update(VERSION);
    byte[] signature = made.sign();
    Signature checked = signature(owner);
    checked.initVerify(owner);
    checked.update(VERSION);
    return checked.verify(signature);
  }

  private static Signature signature(PublicKey owner) throws GeneralSecurityException {
    String algorithm = owner.getAlgorithm();
    if (algorithm.equals(PSS)) {
      Signature made = Signature.getInstance(PSS);
      // A key can be for certain parameters only.
      AlgorithmParameterSpec ofKey = owner instanceof RSAKey key ? key.getParams() : null;
      made.setParameter(ofKey == null ? USUAL_PSS : ofKey);
      return made;
    }
    return Signature.getInstance(
        switch (algorithm) {
          case "RSA" -> "SHA256withRSA";
          case "EC" -> "SHA256withECDSA";
          default -> algorithm;
        });
  }
}
