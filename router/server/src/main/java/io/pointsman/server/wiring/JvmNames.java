package io.pointsman.server.wiring;

import java.security.Security;

/**
 * The JVM's own cache of host names. It would hide changes for 30 s, even if {@code pool.name-ttl}
 * is shorter.
 */
final class JvmNames {
  private static final String FOUND = "networkaddress.cache.ttl";
  private static final String UNKNOWN = "networkaddress.cache.negative.ttl";

  private JvmNames() {}

  /**
   * Turns the cache off, unless the operator has set a time for it. Has an effect only before the
   * first lookup of the process.
   */
  static void forgetAtOnce() {
    if (Security.getProperty(FOUND) == null) {
      Security.setProperty(FOUND, "0");
      Security.setProperty(UNKNOWN, "0");
    }
  }
}
