package io.pointsman.batch;

import io.pointsman.config.settings.BatchSettings;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The APIs for files and batches, with their store. */
public final class BatchService implements AutoCloseable {
  /** A wait of the current thread. */
  @FunctionalInterface
  public interface Sleep {
    /** Waits for a time in milliseconds. */
    void millis(long millis) throws InterruptedException;
  }

  private final BatchStore store;
  private final RouterCaller caller;
  private final BatchRunner runner;
  private final FilesApi files;
  private final BatchesApi batches;
  private final BatchClients clients;
  private final AtomicReference<BatchSettings> present;
  private final AtomicBoolean running = new AtomicBoolean();

  private BatchService(
      BatchStore store,
      RouterCaller caller,
      AtomicReference<BatchSettings> present,
      BatchClients clients,
      InstantSource clock,
      Supplier<String> ids,
      Owners owners,
      Sleep sleep) {
    this.store = store;
    this.caller = caller;
    this.clients = clients;
    this.present = present;
    Supplier<BatchSettings> settings = present::get;
    LineRequests requests =
        new LineRequests(store, settings, caller, clients, clock, sleep::millis);
    runner = new BatchRunner(store, settings, requests, clients, clock, owners);
    files = new FilesApi(store, settings, clock, ids, owners);
    batches = new BatchesApi(store, runner, clock, ids, owners);
  }

  /**
   * Opens the store.
   *
   * @param certificateFile file with the certificate of the router's port; empty: it has no TLS
   * @param keysConfirmed true if servers confirm the keys of clients
   * @param severalOwners true if keys or certificates distinguish clients
   * @param keys the present holder of a key by its name; null if there is none
   * @param ids source of unique ids that nobody can guess: letters and digits
   * @throws IOException if the directory cannot be used
   * @throws IllegalArgumentException if the file has no certificate
   */
  public static BatchService open(
      BatchSettings settings,
      String certificateFile,
      boolean keysConfirmed,
      boolean severalOwners,
      Function<String, @Nullable KeyHolder> keys,
      InstantSource clock,
      Supplier<String> ids,
      Sleep sleep)
      throws IOException {
    RouterCaller caller = new RouterCaller(settings.apiKey(), certificateFile);
    BatchStore store;
    try {
      store = BatchStore.open(Path.of(settings.directory()).toAbsolutePath());
    } catch (IOException | RuntimeException e) {
      caller.close();
      throw e;
    }
    AtomicReference<BatchSettings> present = new AtomicReference<>(settings);
    Owners owners = new Owners(keysConfirmed, () -> severalOwners ? present.get().maxShare() : 1);
    BatchClients clients = new BatchClients(ids, keys);
    return new BatchService(store, caller, present, clients, clock, ids, owners, sleep);
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    files.addTo(routes);
    batches.addTo(routes);
  }

  /**
   * Uses other settings from here on, except the directory. Requests in progress end as they began,
   * and a batch in progress keeps a larger limit of the store.
   */
  public void use(BatchSettings next) {
    present.set(next);
    caller.use(next.apiKey());
    runner.follow();
  }

  /** The check of clients, which also knows the requests of batches. */
  public CallerCheck around(CallerCheck callers) {
    return clients.around(callers);
  }

  /**
   * Sends requests that begin later to this address of the router. The first call starts to run
   * batches, first those of an earlier process.
   *
   * @param router address of the router, for the batches' requests
   * @param certificateFile file with the certificate of that port; empty: it has no TLS
   */
  public void runAt(URI router, String certificateFile) {
    caller.router(router, certificateFile);
    if (running.compareAndSet(false, true)) {
      runner.start();
    }
  }

  /** Stops to run batches. They continue after the next start. */
  public void stop() {
    runner.stop();
  }

  @Override
  public void close() throws IOException {
    runner.stop();
    caller.close();
    store.close();
  }
}
