package io.pointsman.testkit;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The files of the repository. Other tests run at the same time, and files of theirs come and go in
 * the directories of the modules, such as {@code .attach_pid1} of a JVM that is asked for its heap.
 * A walk of the JDK fails on a file that goes meanwhile; this one does not.
 */
public final class RepositoryFiles {
  private static final Set<String> SKIPPED = Set.of("target", ".git", "node_modules", ".idea");

  private RepositoryFiles() {}

  /** All files below a directory, except built and fetched ones. */
  public static List<Path> below(Path directory) throws IOException {
    List<Path> files = new ArrayList<>();
    Files.walkFileTree(
        directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path each, BasicFileAttributes attributes) {
            return SKIPPED.contains(String.valueOf(each.getFileName()))
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            files.add(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException problem)
              throws IOException {
            if (problem instanceof NoSuchFileException && !file.equals(directory)) {
              return FileVisitResult.CONTINUE;
            }
            throw problem;
          }
        });
    return files;
  }
}
