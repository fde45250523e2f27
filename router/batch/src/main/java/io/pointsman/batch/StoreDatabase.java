package io.pointsman.batch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The SQLite database of a store of batches, with its tables. Its methods block and can be called
 * by any thread; one statement runs at a time.
 */
final class StoreDatabase implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(StoreDatabase.class);

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

  /** Tables with a column that stores of earlier versions do not have. */
  private static final List<String> OWNED = List.of("files", "batches");

  private static final String UNPACKED_IN = "org.sqlite.tmpdir";

  /** The place that the last store has set; empty before. */
  private static final AtomicReference<String> UNPACKING = new AtomicReference<>("");

  private final Connection connection;

  private StoreDatabase(Connection connection) {
    this.connection = connection;
  }

  /**
   * Opens the database of a directory, and creates or extends its tables.
   *
   * @throws IOException if it cannot be used; the message is for the operator
   */
  static StoreDatabase open(StoreDirectory directory) throws IOException {
    try {
      return new StoreDatabase(connection(directory.path()));
    } catch (SQLException e) {
      throw new IOException("batch.directory: " + directory.path() + ": " + e.getMessage(), e);
    }
  }

  private static Connection connection(Path directory) throws SQLException {
    // The driver unpacks its library. The usual place for that can be read-only, or belong to all.
    unpackIn(directory.resolve("files"));
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

  /** Sets the place for the driver's library, unless the operator has set it. */
  private static synchronized void unpackIn(Path place) {
    String set = System.getProperty(UNPACKED_IN);
    if (set == null || set.equals(UNPACKING.get())) {
      UNPACKING.set(place.toString());
      System.setProperty(UNPACKED_IN, place.toString());
    }
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

  /** Reads a row. */
  interface Row<T> {
    T read(ResultSet row) throws SQLException;
  }

  synchronized <T> List<T> query(String sql, Row<T> row, @Nullable Object... values) {
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

  synchronized int update(String sql, @Nullable Object... values) {
    try (PreparedStatement statement = prepared(sql, values)) {
      return statement.executeUpdate();
    } catch (SQLException e) {
      throw failure(e);
    }
  }

  private PreparedStatement prepared(String sql, @Nullable Object... values) throws SQLException {
    PreparedStatement statement = connection.prepareStatement(sql);
    for (int i = 0; i < values.length; i++) {
      statement.setObject(i + 1, values[i]);
    }
    return statement;
  }

  private static UncheckedIOException failure(SQLException e) {
    return new UncheckedIOException(ioFailure(e));
  }

  /** The number that a query returns. */
  long number(String sql, @Nullable Object... values) {
    return query(sql, row -> row.getLong(1), values).getFirst();
  }

  /** Carries out changes together: all of them, or none if one fails. */
  synchronized int transaction(IntSupplier changes) {
    update("BEGIN");
    try {
      int result = changes.getAsInt();
      update("COMMIT");
      return result;
    } catch (RuntimeException e) {
      update("ROLLBACK");
      throw e;
    }
  }

  private static IOException ioFailure(SQLException e) {
    return new IOException("the store of batches: " + e.getMessage(), e);
  }

  @Override
  public synchronized void close() throws IOException {
    try {
      connection.close();
    } catch (SQLException e) {
      throw ioFailure(e);
    }
  }
}
