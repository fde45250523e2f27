package io.pointsman.batch;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The directory of a store of batches, locked against other processes.
 *
 * @param path the directory
 * @param files directory of the contents of files in it
 * @param identity the same object for each spelling of the directory
 */
record StoreDirectory(Path path, Path files, Object identity, FileChannel lock)
    implements AutoCloseable {
  /**
   * The directories that this process uses. If a process closes any channel of a file, the system
   * releases all its locks of the file. So nothing opens the lock of a directory in use again.
   */
  private static final Set<Object> OPEN = ConcurrentHashMap.newKeySet();

  /**
   * Creates the directory if it is absent, and locks it.
   *
   * @throws IOException if it cannot be used; the message is for the operator
   */
  static StoreDirectory open(Path directory) throws IOException {
    Path files = directory.resolve("files");
    Object identity;
    try {
      ownDirectory(directory, files);
      identity = identity(directory);
    } catch (IOException e) {
      throw unusable(directory, e);
    }
    if (!OPEN.add(identity)) {
      throw inUse(directory);
    }
    try {
      return locked(directory, files, identity);
    } catch (IOException | RuntimeException e) {
      OPEN.remove(identity);
      throw e;
    }
  }

  private static Object identity(Path directory) throws IOException {
    Path real = directory.toRealPath();
    Object key = Files.readAttributes(real, BasicFileAttributes.class).fileKey();
    return key == null ? real : key;
  }

  private static IOException unusable(Path directory, IOException reason) {
    String text =
        "batch.directory: " + directory + ": " + reason + " (expected: a writable directory)";
    return new IOException(text, reason);
  }

  private static IOException inUse(Path directory) {
    return new IOException(
        "batch.directory: " + directory + " is in use (expected: one router at a time)");
  }

  private static StoreDirectory locked(Path directory, Path files, Object identity)
      throws IOException {
    FileChannel lock;
    try {
      lock =
          FileChannel.open(
              directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw unusable(directory, e);
    }
    try {
      if (!locked(lock)) {
        throw inUse(directory);
      }
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
    }
    return new StoreDirectory(directory, files, identity, lock);
  }

  /** Creates the directories for this user only: prompts and answers are in them. */
  private static void ownDirectory(Path directory, Path files) throws IOException {
    if (!Files.getFileStore(existing(directory)).supportsFileAttributeView("posix")) {
      Files.createDirectories(files);
      return;
    }
    FileAttribute<?> own =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    Files.createDirectories(directory, own);
    UserPrincipal owner = Files.getOwner(directory);
    Files.createDirectories(files, own);
    Path made = Files.createTempFile(files, BatchStore.FILE_ID, BatchStore.UNFINISHED);
    UserPrincipal user = Files.getOwner(made);
    Files.delete(made);
    if (!owner.equals(user) && !owner.getName().equals("root")) {
      throw new IOException(
          "it belongs to "
              + owner.getName()
              + ", who could replace its files (expected: "
              + user.getName()
              + ")");
    }
  }

  private static Path existing(Path path) {
    Path absolute = path.toAbsolutePath();
    while (absolute.getParent() != null && !Files.exists(absolute)) {
      absolute = absolute.getParent();
    }
    return absolute;
  }

  private static boolean locked(FileChannel lock) throws IOException {
    try {
      return lock.tryLock() != null;
    } catch (OverlappingFileLockException e) {
      return false;
    }
  }

  /** Releases the lock. */
  @Override
  public void close() throws IOException {
    try {
      lock.close();
    } finally {
      OPEN.remove(identity);
    }
  }
}
