package io.pointsman.proxy.identity;

import java.util.Locale;

/** The right of a key of the router. Each role opens one part of the router, and nothing else. */
public enum KeyRole {
  /** Requests at the port of clients. */
  CLIENT,
  /** Decisions and leases of another proxy. */
  PLANE,
  /** The admin listener. */
  ADMIN;

  /** The name in files and flags. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * The role with this name.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static KeyRole of(String name) {
    for (KeyRole role : values()) {
      if (role.text().equals(name)) {
        return role;
      }
    }
    throw new IllegalArgumentException("role: " + name + " (expected: client, plane or admin)");
  }
}
