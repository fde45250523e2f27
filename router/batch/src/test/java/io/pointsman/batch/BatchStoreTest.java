package io.pointsman.batch;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BatchStoreTest {
  private static final StoredFile INPUT =
      new StoredFile("file-1", 3, 0, "in.jsonl", "batch", "key/alice");

  @TempDir Path directory;

  private static void store(BatchStore store, StoredFile file) throws IOException {
    Files.writeString(store.unfinished(file.id()), "abc");
    store.room().take(file.owner(), file.bytes());
    store.add(file);
  }

  @Test
  void contentsWithoutAFileAreRemovedAtTheStart() throws IOException {
    try (BatchStore store = BatchStore.open(directory)) {
      store(store, INPUT);
    }
    Path files = directory.resolve("files");
    Files.writeString(files.resolve("file-2"), "moved, but never entered");
    Files.writeString(files.resolve("file-3.part"), "not yet moved");
    Path other = Files.writeString(files.resolve("library.so"), "not a content");

    try (BatchStore store = BatchStore.open(directory)) {
      assertThat(store.content(requireNonNull(store.file("file-1")))).hasContent("abc");
      assertThat(files.resolve("file-2")).doesNotExist();
      assertThat(files.resolve("file-3.part")).doesNotExist();
      assertThat(other).exists();
      assertThat(store.room().used()).isEqualTo(3);
      assertThat(store.room().used("key/alice")).isEqualTo(3);
    }
  }

  /** Another process, which tries to lock the file of its argument. */
  static final class OtherProcess {
    private OtherProcess() {}

    public static void main(String[] args) throws IOException {
      try (FileChannel file = FileChannel.open(Path.of(args[0]), StandardOpenOption.WRITE)) {
        System.exit(file.tryLock() == null ? 3 : 0);
      }
    }
  }

  private boolean isLocked() throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process other =
        new ProcessBuilder(
                java,
                "-cp",
                System.getProperty("java.class.path"),
                OtherProcess.class.getName(),
                directory.resolve("lock").toString())
            .inheritIO()
            .start();
    int code = other.waitFor();
    assertThat(code).isIn(0, 3);
    return code == 3;
  }

  @Test
  void aRefusedStoreOfTheSameDirectoryLeavesTheLock(@TempDir Path elsewhere) throws Exception {
    Path link = Files.createSymbolicLink(elsewhere.resolve("link"), directory);
    try (BatchStore store = BatchStore.open(directory)) {
      for (Path again : List.of(directory, directory.resolve("files/.."), link)) {
        assertThatThrownBy(() -> BatchStore.open(again))
            .isInstanceOf(IOException.class)
            .hasMessage("batch.directory: %s is in use (expected: one router at a time)", again);
      }
      assertThat(store.room().used()).isZero();
      assertThat(isLocked()).isTrue();
    }
    assertThat(isLocked()).isFalse();
    BatchStore.open(link).close();
  }

  /** An open database would be closed only with the process. */
  @Test
  void aStoreThatCannotBeReadIsReleased() throws Exception {
    BatchStore.open(directory).close();
    try (Connection database =
            DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("batch.db"));
        Statement statement = database.createStatement()) {
      statement.execute("ALTER TABLE results RENAME COLUMN json TO other");
    }
    assertThatThrownBy(() -> BatchStore.open(directory)).isInstanceOf(UncheckedIOException.class);
    assertThat(isLocked()).isFalse();
    assertThat(directory.resolve("batch.db-wal")).doesNotExist();
  }

  /** The place can have gone with a directory that was in use before. */
  @Test
  void theDriverUnpacksInTheDirectoryInUse(@TempDir Path other) throws IOException {
    BatchStore.open(other).close();
    try (BatchStore store = BatchStore.open(directory)) {
      assertThat(store.room().used()).isZero();
      assertThat(System.getProperty("org.sqlite.tmpdir"))
          .isEqualTo(directory.resolve("files").toString());
    }
  }

  @Test
  void resultsOfAFinishedBatchAreRemovedAtTheStart() throws IOException {
    Batch open = Batch.create("batch_1", INPUT, "/v1/chat/completions", "24h", 0, 86_400);
    Batch finished = Batch.create("batch_2", INPUT, "/v1/chat/completions", "24h", 0, 86_400);
    try (BatchStore store = BatchStore.open(directory)) {
      store.add(open);
      store.add(open, 1, false, "{}");
      store.add(finished);
      store.add(finished, 1, false, "{\"a\":1}");
      store.update(finished.with(BatchStatus.COMPLETED, 1));
    }

    try (BatchStore store = BatchStore.open(directory)) {
      assertThat(store.result(open, false, 0)).isEqualTo(new BatchStore.Result(1, "{}"));
      assertThat(store.result(finished, false, 0)).isNull();
      assertThat(store.room().used()).isEqualTo(2);
      assertThat(store.room().used("key/alice")).isEqualTo(2);
    }
  }

  /** The tables of the first version, as text, with a file, a finished and an unfinished batch. */
  private static final String[] FIRST_VERSION = {
    "CREATE TABLE files(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, bytes"
        + " INTEGER NOT NULL, created_at INTEGER NOT NULL, name TEXT NOT NULL, purpose TEXT NOT"
        + " NULL)",
    "CREATE TABLE batches(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, status"
        + " TEXT NOT NULL, input TEXT NOT NULL, json TEXT NOT NULL, completed INTEGER NOT NULL,"
        + " failed INTEGER NOT NULL)",
    "CREATE TABLE results(batch TEXT NOT NULL, line INTEGER NOT NULL, failed INTEGER NOT NULL, json"
        + " TEXT NOT NULL, PRIMARY KEY(batch, line)) WITHOUT ROWID",
    "INSERT INTO files(id, bytes, created_at, name, purpose) VALUES('file-1', 3, 7, 'in.jsonl',"
        + " 'batch')",
    "INSERT INTO batches(id, status, input, json, completed, failed) VALUES('batch_1',"
        + " 'in_progress', 'file-1', '{\"id\":\"batch_1\",\"object\":\"batch\",\"endpoint\":"
        + "\"/v1/chat/completions\",\"input_file_id\":\"file-1\",\"expires_at\":86400,"
        + "\"total\":3}', 1, 1)",
    "INSERT INTO batches(id, status, input, json, completed, failed) VALUES('batch_2', 'completed',"
        + " 'file-1', '{\"id\":\"batch_2\",\"object\":\"batch\",\"endpoint\":"
        + "\"/v1/chat/completions\",\"input_file_id\":\"file-1\",\"output_file_id\":\"file-1\","
        + "\"expires_at\":86400,\"total\":2}', 2, 0)",
    "INSERT INTO results(batch, line, failed, json) VALUES('batch_1', 1, 0, '{}'), ('batch_1', 2,"
        + " 1, '{}')"
  };

  @Test
  void aStoreOfAnEarlierVersionGetsOwners() throws Exception {
    Files.writeString(Files.createDirectories(directory.resolve("files")).resolve("file-1"), "abc");
    try (Connection earlier =
            DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("batch.db"));
        Statement statement = earlier.createStatement()) {
      for (String each : FIRST_VERSION) {
        statement.execute(each);
      }
    }

    for (int start = 0; start < 2; start++) {
      try (BatchStore store = BatchStore.open(directory)) {
        assertThat(store.file("file-1", Owners.EVERYBODY)).isNotNull();
        assertThat(store.file("file-1", "key/alice")).isNull();
        assertThat(store.batch("batch_1", Owners.EVERYBODY)).isNotNull();
        assertThat(store.batches("key/alice", null, 9)).isEmpty();
        assertThat(store.batches(Owners.EVERYBODY, null, 9)).hasSize(2);
        Batch open = store.open().getFirst();
        assertThat(store.open()).hasSize(1);
        assertThat(open.id()).isEqualTo("batch_1");
        assertThat(open.completed()).isEqualTo(1);
        assertThat(store.done(open).cardinality()).isEqualTo(2);
        assertThat(store.content(requireNonNull(store.file("file-1")))).hasContent("abc");
      }
    }
  }
}
