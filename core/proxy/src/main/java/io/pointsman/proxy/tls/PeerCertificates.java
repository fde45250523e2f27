package io.pointsman.proxy.tls;

import io.pointsman.proxy.identity.ClientIdentity;
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

  private static String bounded(String subject) {
    return subject.length() <= LONGEST
        ? subject
        : subject.substring(0, LONGEST - 9) + "#" + Integer.toHexString(subject.hashCode());
  }
}
