package io.pointsman.engine.env;

import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;

/** Descriptions of failures to read or write files. */
public final class FileProblem {
  private FileProblem() {}

  /**
   * The reason without the class of the exception and without the path. The messages of some
   * exceptions of files are only the path.
   */
  public static String of(Exception failure) {
    return switch (failure) {
      case NoSuchFileException _ -> "no such file or directory";
      case AccessDeniedException _ -> "no permission";
      default -> LogText.of(String.valueOf(failure.getMessage()));
    };
  }
}
