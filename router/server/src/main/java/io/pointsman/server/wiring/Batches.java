package io.pointsman.server.wiring;

import io.pointsman.batch.BatchService;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.CallerCheck;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files and batches, which may begin, get another directory, and end at run time. A new store is
 * open before the old one closes. Batches of the old one stop, and continue when its directory is
 * in use again. A router without batches loads none of the classes of the store. Thread-safe.
 */
final class Batches implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Batches.class);

  private final Function<String, @Nullable KeyHolder> keys;

  /** Null without files and batches. */
  private volatile @Nullable BatchService present;

  /**
   * The service before. Its requests may still arrive while it stops. Null before the first change.
   */
  private volatile @Nullable BatchService last;

  /** Closes the store before; null before the first change. */
  private volatile @Nullable Thread releases;

  /** The directory in use as configured; empty without batches. Guarded by this. */
  private String directory = "";

  /** The same without links; null without batches. Guarded by this. */
  private @Nullable Path realDirectory;

  /**
   * @param keys the present holder of a key by its name; null if there is none
   */
  Batches(Function<String, @Nullable KeyHolder> keys) {
    this.keys = keys;
  }

  /**
   * Opens the first store.
   *
   * @throws IOException if the directory cannot be used
   */
  void open(PointsmanConfig config) throws IOException {
    Change first = prepared(config);
    first.apply();
    first.finish();
  }

  /** Another store, before and while it is in use. */
  final class Change implements Replacement {
    private final String next;
    private final @Nullable BatchService opened;
    private final @Nullable Path realNext;
    private final String directoryBefore = directory;
    private final @Nullable Path realBefore = realDirectory;
    private final @Nullable BatchService before = present;
    private final @Nullable BatchService lastBefore = last;

    private Change(String next, @Nullable BatchService opened, @Nullable Path realNext) {
      this.next = next;
      this.opened = opened;
      this.realNext = realNext;
    }

    private boolean same() {
      return next.equals(directoryBefore);
    }

    /** The service after the change; null without files and batches. */
    @Nullable BatchService service() {
      return same() ? before : opened;
    }

    @Override
    public void apply() {
      put(next, realNext, service(), same() ? lastBefore : before);
    }

    @Override
    public void undo() {
      put(directoryBefore, realBefore, before, lastBefore);
    }

    /** Closes the store that does not come into use. */
    @Override
    public void drop() {
      if (opened != null) {
        release(opened);
      }
    }

    /** Begins to stop the batches of the earlier store, and to close it. */
    @Override
    public void finish() {
      BatchService earlier = same() ? null : before;
      if (earlier != null) {
        releases = Thread.ofVirtual().name("batches-release").start(() -> release(earlier));
      }
    }
  }

  /**
   * Waits until the earlier store is closed. Its directory can then be in use again. Call it after
   * everything else has changed: requests in progress can take until the limit of a stop.
   */
  void awaitRelease() {
    Thread releasing = releases;
    if (releasing != null) {
      try {
        releasing.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void release(BatchService service) {
    try {
      service.close();
    } catch (IOException e) {
      log.warn("the store of files and batches is not closed cleanly", e);
    }
  }

  private synchronized void put(
      String by,
      @Nullable Path real,
      @Nullable BatchService service,
      @Nullable BatchService before) {
    directory = by;
    realDirectory = real;
    present = service;
    last = before;
  }

  /**
   * Opens another store, if the configuration has another directory.
   *
   * @throws IOException if the directory cannot be used
   * @throws IllegalArgumentException if the certificate of the router cannot be used
   */
  synchronized Change prepared(PointsmanConfig config) throws IOException {
    BatchSettings settings = config.batch();
    String next = settings.enabled() ? settings.directory() : "";
    if (next.isEmpty()) {
      return new Change(next, null, null);
    }
    if (next.equals(directory) || (realDirectory != null && realDirectory.equals(real(next)))) {
      return new Change(directory, null, realDirectory);
    }
    BatchService opened = opened(config);
    return new Change(next, opened, real(next));
  }

  /** The directory without links; null if it cannot be found. */
  private static @Nullable Path real(String directory) {
    try {
      return Path.of(directory).toRealPath();
    } catch (IOException e) {
      return null;
    }
  }

  /** Only this method loads the classes of the store. */
  private BatchService opened(PointsmanConfig config) throws IOException {
    boolean keysConfirmed = !config.auth().validationUrls().isEmpty();
    boolean certificates = !config.proxy().listen().tls().clientCaFile().isEmpty();
    return BatchService.open(
        config.batch(),
        config.proxy().listen().tls().certificateFile(),
        keysConfirmed,
        keysConfirmed || certificates || config.auth().ownKeys(),
        keys,
        InstantSource.system(),
        () -> UUID.randomUUID().toString().replace("-", ""),
        Thread::sleep);
  }

  /** The service in use; null without files and batches. */
  @Nullable BatchService present() {
    return present;
  }

  /** The check of clients, which also knows the requests of batches. */
  CallerCheck around(CallerCheck callers) {
    CallerCheck all = callers;
    BatchService before = last;
    if (before != null) {
      all = before.around(all);
    }
    BatchService now = present;
    return now == null ? all : now.around(all);
  }

  /** Uses other limits, see {@link BatchService#use}. */
  void use(BatchSettings settings) {
    BatchService now = present;
    if (now != null) {
      now.use(settings);
    }
  }

  /**
   * Sends requests that begin later to this address of the router, and runs the batches of a store
   * that is new.
   *
   * @param certificateFile file with the certificate of that port; empty: it has no TLS
   */
  void runAt(URI router, String certificateFile) {
    BatchService now = present;
    if (now != null) {
      now.runAt(router, certificateFile);
    }
  }

  /** Stops to run batches. They continue after the next start. */
  void stop() {
    BatchService now = present;
    if (now != null) {
      now.stop();
    }
  }

  @Override
  public void close() throws IOException {
    BatchService now = present;
    if (now != null) {
      now.close();
    }
  }
}
