package io.pointsman.proxy.tls;

import java.security.cert.X509Certificate;
import java.util.Set;

/**
 * Conditions under which a listener accepts a connection.
 *
 * @param encrypted true with TLS
 * @param authorities CAs of clients' certificates; empty: clients need none
 * @param required true if a client needs a certificate of these CAs
 */
record ConnectionConditions(boolean encrypted, Set<X509Certificate> authorities, boolean required) {
  static final ConnectionConditions CLEAR_TEXT = new ConnectionConditions(false, Set.of(), false);
}
