package io.pointsman.batch;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store of files and batches: a directory of contents, and a SQLite database of everything
 * else. One process at a time uses it. Its methods block and can be called by any thread.
 */
final class BatchStore implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(BatchStore.class);

  private static final String[] SCHEMA = {
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "CREATE TABLE IF NOT EXISTS files(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT"
        + " NULL, bytes INTEGER NOT NULL, created_at INTEGER NOT NULL, name TEXT NOT NULL,"
        + " purpose TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS batches(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT"
        + " NULL, status TEXT NOT NULL, input TEXT NOT NULL, json TEXT NOT NULL, completed INTEGER"
        + " NOT NULL, failed INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS results(batch TEXT NOT NULL, line INTEGER NOT NULL, failed INTEGER"
        + " NOT NULL, json TEXT NOT NULL, PRIMARY KEY(batch, line)) WITHOUT ROWID"
  };

  private static final String UNFINISHED = ".part";

  /** First characters of the ids of files. */
  static final String FILE_ID = "file-";

  private static final String OPEN = "('validating', 'in_progress', 'finalizing', 'cancelling')";
  private static final String FILE =
      "SELECT id, bytes, created_at, name, purpose, owner FROM files";
  private static final String BATCH =
      "SELECT id, status, json, completed, failed, owner FROM batches";

  /** Tables with a column that stores of earlier versions do not have. */
  private static final List<String> OWNED = List.of("files", "batches");

  private final Path files;
  private final FileChannel lock;
  private final Connection database;

  private final StoreRoom room = new StoreRoom();

  private BatchStore(Path files, FileChannel lock, Connection database) {
    this.files = files;
    this.lock = lock;
    this.database = database;
    update(
        "DELETE FROM results WHERE batch NOT IN (SELECT id FROM batches WHERE status IN "
            + OPEN
            + ")");
    takeRoom("SELECT owner, SUM(bytes) FROM files GROUP BY owner");
    takeRoom(
        "SELECT owner, SUM(LENGTH(results.json)) FROM results JOIN batches ON id = batch GROUP BY"
            + " owner");
  }

  /**
   * Opens the store, and creates it if it is absent.
   *
   * @throws IOException if it cannot be used; the message is for the operator
   */
  static BatchStore open(Path directory) throws IOException {
    Path files = directory.resolve("files");
    FileChannel lock;
    try {
      ownDirectory(directory, files);
      lock =
          FileChannel.open(
              directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    } catch (IOException e) {
      throw new IOException(
          "batch.directory: " + directory + ": " + e + " (expected: a writable directory)", e);
    }
    try {
      if (!locked(lock)) {
        throw new IOException(
            "batch.directory: " + directory + " is in use (expected: one router at a time)");
      }
      BatchStore store = new BatchStore(files, lock, database(directory));
      store.removeContentsWithoutFile();
      return store;
    } catch (SQLException e) {
      lock.close();
      throw new IOException("batch.directory: " + directory + ": " + e.getMessage(), e);
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
    }
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
    Path made = Files.createTempFile(files, FILE_ID, UNFINISHED);
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

  private static Connection database(Path directory) throws SQLException {
    // The driver unpacks its library. The usual place for that can be read-only, or belong to all.
    if (System.getProperty("org.sqlite.tmpdir") == null) {
      System.setProperty("org.sqlite.tmpdir", directory.resolve("files").toString());
    }
    Connection opened = DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("batch.db"));
    try (Statement statement = opened.createStatement()) {
      for (String each : SCHEMA) {
        statement.execute(each);
      }
      for (String each : OWNED) {
        addOwners(statement, each);
      }
    } catch (SQLException e) {
      opened.close();
      throw e;
    }
    return opened;
  }

  /** Adds the column of owners to a table that has none. Its rows then belong to everybody. */
  private static void addOwners(Statement statement, String table) throws SQLException {
    try (ResultSet found =
        statement.executeQuery(
            "SELECT COUNT(*) FROM pragma_table_info('" + table + "') WHERE name = 'owner'")) {
      if (found.next() && found.getInt(1) > 0) {
        return;
      }
    }
    statement.execute("ALTER TABLE " + table + " ADD COLUMN owner TEXT NOT NULL DEFAULT ''");
    try (ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM " + table)) {
      if (rows.next() && rows.getInt(1) > 0) {
        LOG.warn(
            "batch.directory: {} {} of an earlier version have no owner; only clients without key"
                + " and certificate can use them",
            rows.getInt(1),
            table);
      }
    }
  }

  /** Removes contents that a process left behind when it ended in the middle of a change. */
  private void removeContentsWithoutFile() throws IOException {
    try (DirectoryStream<Path> contents = Files.newDirectoryStream(files, FILE_ID + "*")) {
      for (Path each : contents) {
        if (file(each.getFileName().toString()) == null) {
          Files.delete(each);
        }
      }
    }
  }

  /** Reads a row. */
  private interface Row<T> {
    T read(ResultSet row) throws SQLException;
  }

  private synchronized <T> List<T> query(String sql, Row<T> row, @Nullable Object... values) {
    try (PreparedStatement statement = prepared(sql, values);
        ResultSet found = statement.executeQuery()) {
      List<T> all = new ArrayList<>();
      while (found.next()) {
        all.add(row.read(found));
      }
      return all;
    } catch (SQLException e) {
      throw failure(e);
    }
  }

  private synchronized int update(String sql, @Nullable Object... values) {
    try (PreparedStatement statement = prepared(sql, values)) {
      return statement.executeUpdate();
    } catch (SQLException e) {
      throw failure(e);
    }
  }

  private PreparedStatement prepared(String sql, @Nullable Object... values) throws SQLException {
    PreparedStatement statement = database.prepareStatement(sql);
    for (int i = 0; i < values.length; i++) {
      statement.setObject(i + 1, values[i]);
    }
    return statement;
  }

  private static UncheckedIOException failure(SQLException e) {
    return new UncheckedIOException(new IOException("the store of batches: " + e.getMessage(), e));
  }

  // Files.

  /** Path of a content that is still being written. */
  Path unfinished(String id) {
    return files.resolve(id + UNFINISHED);
  }

  /** Path of the content of a file in the store. */
  Path content(StoredFile file) {
    return files.resolve(file.id());
  }

  /** Adds a file. Its content is complete at {@link #unfinished}, and its room is reserved. */
  void add(StoredFile file) throws IOException {
    Files.move(unfinished(file.id()), content(file), StandardCopyOption.ATOMIC_MOVE);
    update(
        "INSERT INTO files(id, bytes, created_at, name, purpose, owner) VALUES(?, ?, ?, ?, ?, ?)",
        file.id(),
        file.bytes(),
        file.createdAt(),
        file.name(),
        file.purpose(),
        file.owner());
  }

  private static StoredFile file(ResultSet row) throws SQLException {
    return new StoredFile(
        row.getString(1),
        row.getLong(2),
        row.getLong(3),
        row.getString(4),
        row.getString(5),
        row.getString(6));
  }

  /** The file with an id; null if there is none. */
  @Nullable StoredFile file(String id) {
    List<StoredFile> found = query(FILE + " WHERE id = ?", BatchStore::file, id);
    return found.isEmpty() ? null : found.getFirst();
  }

  /** The file of an owner with an id; null if there is none. */
  @Nullable StoredFile file(String id, String owner) {
    StoredFile found = file(id);
    return found != null && found.owner().equals(owner) ? found : null;
  }

  /**
   * Files of an owner, newest first.
   *
   * @param purpose only those; null: all
   * @param after only those older than the file with this id; null: all
   */
  List<StoredFile> files(String owner, @Nullable String purpose, @Nullable String after, int most) {
    return query(
        FILE
            + " WHERE owner = ?1 AND (?2 IS NULL OR purpose = ?2) AND (?3 IS NULL OR seq <"
            + " (SELECT seq FROM files WHERE id = ?3 AND owner = ?1)) ORDER BY seq DESC LIMIT ?4",
        BatchStore::file,
        owner,
        purpose,
        after,
        most);
  }

  /** The room for files and results. */
  StoreRoom room() {
    return room;
  }

  private void takeRoom(String sumsByOwner) {
    query(sumsByOwner, row -> Map.entry(row.getString(1), row.getLong(2)))
        .forEach(each -> room.take(each.getKey(), each.getValue()));
  }

  private long number(String sql, @Nullable Object... values) {
    return query(sql, row -> row.getLong(1), values).getFirst();
  }

  /**
   * Number of files.
   *
   * @param owner only those of this owner; null: all
   */
  long count(@Nullable String owner) {
    return number("SELECT COUNT(*) FROM files WHERE ?1 IS NULL OR owner = ?1", owner);
  }

  /** Deletes a file. */
  void delete(StoredFile file) throws IOException {
    if (update("DELETE FROM files WHERE id = ?", file.id()) > 0) {
      room.release(file.owner(), file.bytes());
    }
    Files.deleteIfExists(content(file));
  }

  /** True if an open batch reads the file. */
  boolean isInput(StoredFile file) {
    return open().stream().anyMatch(batch -> batch.input().equals(file.id()));
  }

  // Batches.

  void add(Batch batch) {
    update(
        "INSERT INTO batches(id, status, input, json, completed, failed, owner) VALUES(?, ?, ?, ?,"
            + " 0, 0, ?)",
        batch.id(),
        batch.status().word(),
        batch.input(),
        Answers.text(batch.json()),
        batch.owner());
  }

  /** Replaces the state of a batch, except its counts. */
  void update(Batch batch) {
    update(
        "UPDATE batches SET status = ?, json = ? WHERE id = ?",
        batch.status().word(),
        Answers.text(batch.json()),
        batch.id());
  }

  private static Batch batch(ResultSet row) throws SQLException {
    try {
      ObjectNode json = (ObjectNode) Answers.MAPPER.readTree(row.getString(3));
      BatchStatus status = BatchStatus.of(row.getString(2));
      return new Batch(
          row.getString(1), status, json, row.getInt(4), row.getInt(5), row.getString(6));
    } catch (JsonProcessingException e) {
      throw new SQLException("a batch is not readable", e);
    }
  }

  /** The batch with an id; null if there is none. */
  @Nullable Batch batch(String id) {
    List<Batch> found = query(BATCH + " WHERE id = ?", BatchStore::batch, id);
    return found.isEmpty() ? null : found.getFirst();
  }

  /** The batch of an owner with an id; null if there is none. */
  @Nullable Batch batch(String id, String owner) {
    Batch found = batch(id);
    return found != null && found.owner().equals(owner) ? found : null;
  }

  /**
   * Batches of an owner, newest first.
   *
   * @param after only those older than the batch with this id; null: all
   */
  List<Batch> batches(String owner, @Nullable String after, int most) {
    return query(
        BATCH
            + " WHERE owner = ?1 AND (?2 IS NULL OR seq < (SELECT seq FROM batches WHERE id = ?2"
            + " AND owner = ?1)) ORDER BY seq DESC LIMIT ?3",
        BatchStore::batch,
        owner,
        after,
        most);
  }

  /** Batches that are not finished, oldest first. */
  List<Batch> open() {
    return query(BATCH + " WHERE status IN " + OPEN + " ORDER BY seq", BatchStore::batch);
  }

  /**
   * Number of batches that are not finished.
   *
   * @param owner only those of this owner; null: all
   */
  long openCount(@Nullable String owner) {
    return number(
        "SELECT COUNT(*) FROM batches WHERE status IN " + OPEN + " AND (?1 IS NULL OR owner = ?1)",
        owner);
  }

  /**
   * Number of batches.
   *
   * @param owner only those of this owner; null: all
   */
  long batchCount(@Nullable String owner) {
    return number("SELECT COUNT(*) FROM batches WHERE ?1 IS NULL OR owner = ?1", owner);
  }

  /** The owner with the most finished batches; null if none is finished. */
  @Nullable String ownerOfMostFinished() {
    List<String> found =
        query(
            "SELECT owner FROM batches WHERE status NOT IN "
                + OPEN
                + " GROUP BY owner ORDER BY COUNT(*) DESC LIMIT 1",
            row -> row.getString(1));
    return found.isEmpty() ? null : found.getFirst();
  }

  /** Forgets the oldest finished batch of an owner. */
  void forgetOldest(String owner) {
    update(
        "DELETE FROM batches WHERE seq = (SELECT MIN(seq) FROM batches WHERE owner = ? AND status"
            + " NOT IN "
            + OPEN
            + ")",
        owner);
  }

  /** Adds the result of a line, and counts it. A second result for the line is ignored. */
  synchronized void add(Batch batch, int line, boolean failed, String json) {
    update("BEGIN");
    try {
      int added =
          update(
              "INSERT OR IGNORE INTO results(batch, line, failed, json) VALUES(?, ?, ?, ?)",
              batch.id(),
              line,
              failed ? 1 : 0,
              json);
      String column = failed ? "failed" : "completed";
      update(
          "UPDATE batches SET " + column + " = " + column + " + ? WHERE id = ?", added, batch.id());
      update("COMMIT");
      room.take(batch.owner(), added * (long) json.length());
    } catch (RuntimeException e) {
      update("ROLLBACK");
      throw e;
    }
  }

  /** Lines of a batch that have a result. */
  BitSet done(Batch batch) {
    BitSet lines = new BitSet();
    query("SELECT line FROM results WHERE batch = ?", row -> row.getInt(1), batch.id())
        .forEach(lines::set);
    return lines;
  }

  /** The first result of a batch from a line on; null if there is none. */
  @Nullable Result result(Batch batch, boolean failed, int from) {
    List<Result> found =
        query(
            "SELECT line, json FROM results WHERE batch = ? AND failed = ? AND line >= ?"
                + " ORDER BY line LIMIT 1",
            row -> new Result(row.getInt(1), row.getString(2)),
            batch.id(),
            failed ? 1 : 0,
            from);
    return found.isEmpty() ? null : found.getFirst();
  }

  /**
   * The result of a line.
   *
   * @param line number from 1
   */
  record Result(int line, String json) {}

  /** Deletes the results of a batch, after they were written to files. */
  void deleteResults(Batch batch) {
    long bytes =
        number("SELECT COALESCE(SUM(LENGTH(json)), 0) FROM results WHERE batch = ?", batch.id());
    update("DELETE FROM results WHERE batch = ?", batch.id());
    room.release(batch.owner(), bytes);
  }

  @Override
  public synchronized void close() throws IOException {
    try {
      database.close();
    } catch (SQLException e) {
      throw new IOException("the store of batches: " + e.getMessage(), e);
    } finally {
      lock.close();
    }
  }
}
