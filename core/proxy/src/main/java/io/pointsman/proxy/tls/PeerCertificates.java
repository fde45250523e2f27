package io.pointsman.proxy.tls;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.proxy.identity.ClientIdentity;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Set;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/** Names of clients by their certificates, which a configured CA has signed. */
public final class PeerCertificates {
  /** Maximum length of a name in characters. */
  private static final int LONGEST = 256;

  private PeerCertificates() {}

  /** The client by the subject of its certificate (RFC 2253); null if it has sent none. */
  public static @Nullable ClientIdentity identity(SSLEngine tls) {
    if (!tls.getNeedClientAuth() && !tls.getWantClientAuth()) {
      return null;
    }
    try {
      String subject = tls.getSession().getPeerPrincipal().getName();
      return new ClientIdentity(ClientIdentity.Kind.CERTIFICATE, bounded(subject), Set.of());
    } catch (SSLPeerUnverifiedException e) {
      return null;
    }
  }

  /** A long name is cut and gets a digest: access to a file depends on the name. */
  static String bounded(String subject) {
    if (subject.length() <= LONGEST) {
      return subject;
    }
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      String hex = HexFormat.of().formatHex(digest.digest(subject.getBytes(UTF_8)));
      return subject.substring(0, LONGEST - hex.length() - 1) + "#" + hex;
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // each Java runtime has it
    }
  }
}
