package io.pointsman.batch;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The store of files and batches: a directory of contents, and a SQLite database of everything
 * else. One process at a time uses it. Its methods block and can be called by any thread.
 */
final class BatchStore implements AutoCloseable {
  /** Last characters of the names of contents that are being written. */
  static final String UNFINISHED = ".part";

  /** First characters of the ids of files. */
  static final String FILE_ID = "file-";

  private static final String OPEN = "('validating', 'in_progress', 'finalizing', 'cancelling')";
  private static final String FILE =
      "SELECT id, bytes, created_at, name, purpose, owner FROM files";
  private static final String BATCH =
      "SELECT id, status, json, completed, failed, owner FROM batches";

  private final StoreDirectory directory;
  private final StoreDatabase database;
  private final StoreRoom room = new StoreRoom();

  private BatchStore(StoreDirectory directory, StoreDatabase database) {
    this.directory = directory;
    this.database = database;
    database.update(
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
  static BatchStore open(Path path) throws IOException {
    StoreDirectory directory = StoreDirectory.open(path);
    try {
      return open(directory, StoreDatabase.open(directory));
    } catch (IOException | RuntimeException e) {
      directory.close();
      throw e;
    }
  }

  private static BatchStore open(StoreDirectory directory, StoreDatabase database)
      throws IOException {
    try {
      BatchStore store = new BatchStore(directory, database);
      store.removeContentsWithoutFile();
      return store;
    } catch (IOException | RuntimeException e) {
      database.close();
      throw e;
    }
  }

  /** Removes contents that a process left behind when it ended in the middle of a change. */
  private void removeContentsWithoutFile() throws IOException {
    try (DirectoryStream<Path> contents =
        Files.newDirectoryStream(directory.files(), FILE_ID + "*")) {
      for (Path each : contents) {
        if (file(each.getFileName().toString()) == null) {
          Files.delete(each);
        }
      }
    }
  }

  // Files.

  /** Path of a content that is still being written. */
  Path unfinished(String id) {
    return directory.files().resolve(id + UNFINISHED);
  }

  /** Path of the content of a file in the store. */
  Path content(StoredFile file) {
    return directory.files().resolve(file.id());
  }

  /** Adds a file. Its content is complete at {@link #unfinished}, and its room is reserved. */
  void add(StoredFile file) throws IOException {
    Files.move(unfinished(file.id()), content(file), StandardCopyOption.ATOMIC_MOVE);
    database.update(
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
    List<StoredFile> found = database.query(FILE + " WHERE id = ?", BatchStore::file, id);
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
    return database.query(
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
    database
        .query(sumsByOwner, row -> Map.entry(row.getString(1), row.getLong(2)))
        .forEach(each -> room.take(each.getKey(), each.getValue()));
  }

  /**
   * Number of files.
   *
   * @param owner only those of this owner; null: all
   */
  long count(@Nullable String owner) {
    return database.number("SELECT COUNT(*) FROM files WHERE ?1 IS NULL OR owner = ?1", owner);
  }

  /** Deletes a file. */
  void delete(StoredFile file) throws IOException {
    if (database.update("DELETE FROM files WHERE id = ?", file.id()) > 0) {
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
    database.update(
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
    database.update(
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
    List<Batch> found = database.query(BATCH + " WHERE id = ?", BatchStore::batch, id);
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
    return database.query(
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
    return database.query(BATCH + " WHERE status IN " + OPEN + " ORDER BY seq", BatchStore::batch);
  }

  /**
   * Number of batches that are not finished.
   *
   * @param owner only those of this owner; null: all
   */
  long openCount(@Nullable String owner) {
    return database.number(
        "SELECT COUNT(*) FROM batches WHERE status IN " + OPEN + " AND (?1 IS NULL OR owner = ?1)",
        owner);
  }

  /**
   * Number of batches.
   *
   * @param owner only those of this owner; null: all
   */
  long batchCount(@Nullable String owner) {
    return database.number("SELECT COUNT(*) FROM batches WHERE ?1 IS NULL OR owner = ?1", owner);
  }

  /** The owner with the most finished batches; null if none is finished. */
  @Nullable String ownerOfMostFinished() {
    List<String> found =
        database.query(
            "SELECT owner FROM batches WHERE status NOT IN "
                + OPEN
                + " GROUP BY owner ORDER BY COUNT(*) DESC LIMIT 1",
            row -> row.getString(1));
    return found.isEmpty() ? null : found.getFirst();
  }

  /** Forgets the oldest finished batch of an owner. */
  void forgetOldest(String owner) {
    database.update(
        "DELETE FROM batches WHERE seq = (SELECT MIN(seq) FROM batches WHERE owner = ? AND status"
            + " NOT IN "
            + OPEN
            + ")",
        owner);
  }

  /** Adds the result of a line, and counts it. A second result for the line is ignored. */
  void add(Batch batch, int line, boolean failed, String json) {
    int added =
        database.transaction(
            () -> {
              int changed =
                  database.update(
                      "INSERT OR IGNORE INTO results(batch, line, failed, json) VALUES(?, ?, ?, ?)",
                      batch.id(),
                      line,
                      failed ? 1 : 0,
                      json);
              String column = failed ? "failed" : "completed";
              database.update(
                  "UPDATE batches SET " + column + " = " + column + " + ? WHERE id = ?",
                  changed,
                  batch.id());
              return changed;
            });
    room.take(batch.owner(), added * (long) json.length());
  }

  /** Lines of a batch that have a result. */
  BitSet done(Batch batch) {
    BitSet lines = new BitSet();
    database
        .query("SELECT line FROM results WHERE batch = ?", row -> row.getInt(1), batch.id())
        .forEach(lines::set);
    return lines;
  }

  /** The first result of a batch from a line on; null if there is none. */
  @Nullable Result result(Batch batch, boolean failed, int from) {
    List<Result> found =
        database.query(
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
        database.number(
            "SELECT COALESCE(SUM(LENGTH(json)), 0) FROM results WHERE batch = ?", batch.id());
    database.update("DELETE FROM results WHERE batch = ?", batch.id());
    room.release(batch.owner(), bytes);
  }

  @Override
  public void close() throws IOException {
    try {
      database.close();
    } finally {
      directory.close();
    }
  }
}
