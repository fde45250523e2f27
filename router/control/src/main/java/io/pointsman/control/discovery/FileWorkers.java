package io.pointsman.control.discovery;

import io.pointsman.config.ConfigException;
import io.pointsman.config.WatchedFile;
import io.pointsman.config.WorkerFile;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the workers in a file. It reads the file at each look, because a ConfigMap is replaced by
 * a link, which notifications of the system miss. A changed file counts when two looks in a row
 * read the same: it may be in the middle of a write. A broken or missing file changes nothing.
 * Thread-safe.
 */
public final class FileWorkers implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(FileWorkers.class);

  private static final WorkerSource SELF = WorkerSource.FILE;

  private final Path file;
  private final WorkerSources sources;
  private final Consumer<List<WorkerSpec>> prepare;
  private final DiscoveryTally tally;

  /** Contents at the last look, and the contents that were tried last; null before the first. */
  private byte @Nullable [] seen;

  private byte @Nullable [] tried;

  /** Guarded by this. */
  private DisaggSettings disagg;

  private boolean full;
  private boolean used;
  private boolean closed;

  /**
   * @param prepare reads files of new workers; throws IllegalArgumentException if one is unusable
   */
  public FileWorkers(
      Path file,
      DisaggSettings disagg,
      WorkerSources sources,
      Consumer<List<WorkerSpec>> prepare,
      DiscoveryTally tally) {
    this.file = file;
    this.disagg = disagg;
    this.sources = sources;
    this.prepare = prepare;
    this.tally = tally;
  }

  /** Checks the roles of workers by other settings, in the same file too. */
  public synchronized void use(DisaggSettings next) {
    if (!next.equals(disagg)) {
      disagg = next;
      tried = null;
    }
  }

  /** Reads the file, and changes the fleet if the file has changed. */
  public synchronized void look() {
    if (closed) {
      return;
    }
    byte[] now;
    try {
      now = WatchedFile.contents(file);
    } catch (IOException e) {
      seen = null;
      tried = null;
      tally.looked(SELF, file.toString(), problem(e));
      return;
    }
    boolean settled = Arrays.equals(now, seen) || !used;
    seen = now;
    if (settled && (full || !Arrays.equals(now, tried))) {
      tried = now;
      tally.looked(SELF, file.toString(), problemOf(now));
    }
  }

  /** Ends the changes of the fleet by this file, after a look in progress. The workers stay. */
  @Override
  public synchronized void close() {
    closed = true;
    tally.forget(SELF, file.toString());
  }

  private static String problem(IOException e) {
    return e instanceof NoSuchFileException ? "no such file" : "cannot be read: " + e.getMessage();
  }

  /** Uses the contents; returns the reason if they cannot be used. */
  private @Nullable String problemOf(byte[] contents) {
    full = false;
    try {
      String text =
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(contents)).toString();
      List<WorkerSpec> workers = WorkerFile.read(file.getFileName() + "", text, disagg);
      prepare.accept(workers);
      sources.follow(SELF, workers, true);
      used = true;
      log.info("{}: {} workers", file, workers.size());
      return null;
    } catch (CharacterCodingException _) {
      return "not UTF-8 (expected: a YAML or JSON file)";
    } catch (ConfigException e) {
      return String.join("; ", e.problems());
    } catch (IllegalArgumentException e) {
      return String.valueOf(e.getMessage());
    } catch (IllegalStateException e) {
      full = true; // There is room as soon as leaving workers have ended their requests.
      return String.valueOf(e.getMessage());
    }
  }
}
