package io.pointsman.proxy.upstream;

import java.io.FileInputStream;
import java.io.IOException;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/** What the router itself may lack for a connection: no failure of the worker's. */
public enum Shortage {
  /** No file descriptor is left, for the process or the system. */
  DESCRIPTORS("oo many open files"),
  /**
   * All ports from which the worker's address can be connected to are taken. The system says the
   * same where none of its addresses leads to the worker's.
   */
  PORTS("annot assign requested address");

  /** Causes that are looked at most. */
  private static final int DEPTH = 8;

  /** As the system's C library and with it every layer above words it. */
  private final String words;

  Shortage(String words) {
    this.words = words;
  }

  /** Why a connection could not be opened; null if the router lacks nothing for it. */
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

  /** The system's look-up of names does not say why it failed, so another descriptor is tried. */
  private static boolean noneLeft() {
    try (FileInputStream _ = new FileInputStream("/dev/null")) {
      return false;
    } catch (IOException e) {
      return DESCRIPTORS.says(e);
    }
  }
}
