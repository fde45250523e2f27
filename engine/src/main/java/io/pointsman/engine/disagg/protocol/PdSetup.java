package io.pointsman.engine.disagg.protocol;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * A protocol ready for use.
 *
 * @param listeners what it learns from; empty for most, and then no answer of a decode worker needs
 *     to be looked at
 */
public record PdSetup(PdProtocol protocol, List<HandoverListener> listeners) {
  public PdSetup {
    requireNonNull(protocol, "protocol");
    listeners = List.copyOf(listeners);
  }
}
