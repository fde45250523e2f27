package io.pointsman.control.kvevents.wire;

/** A batch that cannot be used; the message contains the reason, but not the batch. */
public final class MalformedBatch extends Exception {
  private static final long serialVersionUID = 1;

  MalformedBatch(String message) {
    super(message);
  }
}
