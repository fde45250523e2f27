package io.pointsman.engine.disagg.protocol;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * A protocol ready for use.
 *
 * @param listeners what it learns from; empty for most, and then no answer of a decode worker needs
 *     to be looked at
 * @param sendsMissing whether decode is sent only what it does not hold of a prompt, so that it
 *     matters how much a decode worker holds; else all of the prompt is sent to whichever it is
 */
public record PdSetup(PdProtocol protocol, List<HandoverListener> listeners, boolean sendsMissing) {
  public PdSetup {
    requireNonNull(protocol, "protocol");
    listeners = List.copyOf(listeners);
  }
}
