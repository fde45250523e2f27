package io.pointsman.proxy.identity;

import static java.util.Objects.requireNonNull;

/** The holder of a valid key of the router. */
public record KeyHolder(ClientIdentity identity, KeyRole role) {
  public KeyHolder {
    requireNonNull(identity, "identity");
    requireNonNull(role, "role");
  }
}
