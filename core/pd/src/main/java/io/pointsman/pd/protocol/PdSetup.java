package io.pointsman.pd.protocol;

import static java.util.Objects.requireNonNull;

import java.util.List;

/**
 * A configured protocol.
 *
 * @param listeners the protocol's learners; if empty, decode responses need not be inspected
 * @param sendsMissing true if only the blocks missing on the decode worker are transferred, so its
 *     cached prefix matters; otherwise the whole prompt is transferred
 */
public record PdSetup(PdProtocol protocol, List<HandoverListener> listeners, boolean sendsMissing) {
  public PdSetup {
    requireNonNull(protocol, "protocol");
    listeners = List.copyOf(listeners);
  }
}
