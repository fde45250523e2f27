package io.pointsman.proxy.upstream;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/** Tells failures of the router's own, for want of file descriptors, from those of workers. */
public final class Descriptors {
  /** As the system's C library and with it every layer above words EMFILE and ENFILE. */
  private static final String TOO_MANY = "oo many open files";

  /** Causes that are looked at most. */
  private static final int DEPTH = 8;

  private Descriptors() {}

  /** Whether a connection could not be opened because no descriptor was left for it. */
  public static boolean exhausted(@Nullable Throwable failure) {
    Throwable cause = failure;
    for (int i = 0; i < DEPTH && cause != null; i++) {
      if (says(cause) || (cause instanceof UnknownHostException && noneLeft())) {
        return true;
      }
      cause = cause.getCause();
    }
    return false;
  }

  private static boolean says(Throwable failure) {
    String message = failure.getMessage();
    return message != null && message.contains(TOO_MANY);
  }

  /** The system's look-up of names does not say why it failed, so another descriptor is tried. */
  private static boolean noneLeft() {
    try (FileInputStream _ = new FileInputStream("/dev/null")) {
      return false;
    } catch (IOException e) {
      return says(e);
    }
  }
}
