package io.pointsman.proxy.upstream;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/** A resource that the router lacks for a connection. It is not a failure of the worker. */
public enum Shortage {
  /** No file descriptor is free, in the process or the system. */
  DESCRIPTORS("oo many open files"),
  /**
   * All local ports for the worker's address are in use. The system reports the same if no local
   * address can reach the worker.
   */
  PORTS("annot assign requested address");

  /** Maximum number of causes to search. */
  private static final int DEPTH = 8;

  /** Part of the message of the C library, which all layers above it repeat. */
  private final String words;

  Shortage(String words) {
    this.words = words;
  }

  /** The resource that was missing for a connection; null if there was another reason. */
  public static @Nullable Shortage of(@Nullable Throwable failure) {
    Throwable cause = failure;
    for (int i = 0; i < DEPTH && cause != null; i++) {
      for (Shortage each : values()) {
        if (each.says(cause)) {
          return each;
        }
      }
      if (cause instanceof UnknownHostException && noneLeft()) {
        return DESCRIPTORS;
      }
      cause = cause.getCause();
    }
    return null;
  }

  private boolean says(Throwable failure) {
    String message = failure.getMessage();
    return message != null && message.contains(words);
  }

  /**
   * The name lookup of the system does not report a reason, so this opens another descriptor as a
   * test.
   */
  private static boolean noneLeft() {
    try (FileInputStream _ = new FileInputStream("/dev/null")) {
      return false;
    } catch (IOException e) {
      return DESCRIPTORS.says(e);
    }
  }
}
