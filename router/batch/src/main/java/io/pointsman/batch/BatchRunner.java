package io.pointsman.batch;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.settings.BatchSettings;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs batches: checks the input, sends its requests, and writes the results to files. Each result
 * is stored at once, so a batch continues after a restart. Then only the requests that were in
 * progress are sent a second time.
 */
final class BatchRunner {
  private static final Logger LOG = LoggerFactory.getLogger(BatchRunner.class);

  /** Maximum number of batches at the same time; further ones wait. */
  private static final int MOST_AT_ONCE = 32;

  /** Time for which a batch keeps its slot at least. It reads its input again after it. */
  private static final Duration TURN = Duration.ofMinutes(1);

  /** Maximum wait at a stop, for all batches together. */
  private static final Duration STOP = Duration.ofSeconds(10);

  private final BatchStore store;
  private final Supplier<BatchSettings> settings;
  private final LineRequests requests;
  private final BatchClients clients;
  private final InstantSource clock;
  private final OwnerSlots running;
  private final CountDownLatch started = new CountDownLatch(1);
  private final Map<String, Run> runs = new ConcurrentHashMap<>();
  private volatile boolean stopped;

  /**
   * @param settings may change, see {@link #follow}
   */
  BatchRunner(
      BatchStore store,
      Supplier<BatchSettings> settings,
      LineRequests requests,
      BatchClients clients,
      InstantSource clock,
      Owners owners) {
    this.store = store;
    this.settings = settings;
    this.requests = requests;
    this.clients = clients;
    this.clock = clock;
    running = new OwnerSlots(MOST_AT_ONCE, () -> (int) owners.shareOf(MOST_AT_ONCE));
  }

  /** Starts to run batches, first those of an earlier process. */
  void start() {
    store.open().forEach(this::begin);
    started.countDown();
  }

  /** Runs a batch as soon as possible. */
  void begin(Batch batch) {
    Run run = new Run(batch);
    if (!stopped && runs.putIfAbsent(batch.id(), run) == null) {
      run.follow();
      run.main.start();
    }
  }

  /** Follows changed settings, also in batches that run. */
  void follow() {
    requests.follow();
    runs.values().forEach(Run::follow);
    running.changed();
  }

  /** Cancels a batch. Returns its state, or null if it is finished or is about to be. */
  @Nullable Batch cancel(String id) {
    Run run = runs.get(id);
    return run == null ? null : run.cancel();
  }

  /** Stops. Requests in progress are cancelled, and their batches stay as they are. */
  void stop() {
    stopped = true;
    List<Run> all = List.copyOf(runs.values());
    all.forEach(Run::interrupt);
    Thread ends = Thread.ofVirtual().name("pointsman-batches-end").start(() -> join(all));
    try {
      if (!ends.join(STOP)) {
        ends.interrupt();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void join(List<Run> all) {
    try {
      for (Run run : all) {
        run.main.join();
      }
    } catch (InterruptedException e) {
      LOG.debug("batches go on after the limit of a stop", e);
    }
  }

  private long now() {
    return clock.instant().getEpochSecond();
  }

  /**
   * A batch in progress. If others wait for its slot and all of its requests wait for limits of its
   * client, it frees the slot: the requests end without a result, and it continues later.
   */
  private final class Run implements LineRequests.Progress {
    private final Thread main = Thread.ofVirtual().name("pointsman-batch").unstarted(this::run);
    private final Set<Thread> senders = ConcurrentHashMap.newKeySet();

    /** Lines in progress. A batch with waiting requests does not keep others from sending. */
    private final Slots lines = new Slots(() -> settings.get().parallelism(), false);

    /** Limit of the store at the begin, in bytes. A lower one does not end the batch. */
    private final long room = settings.get().maxTotalBytes();

    /** Senders that wait for limits, and their waits in milliseconds. It is its own lock. */
    private final Map<Thread, Long> limited = new HashMap<>();

    /** True if each line of the input has a sender or a result. */
    private volatile boolean allRead;

    /** True if the batch is to free its slot. */
    private volatile boolean yields;

    /** Time in seconds since 1970 at which it got its slot. */
    private volatile long since;

    /** Milliseconds until it asks for a slot again. */
    private volatile long pause;

    private volatile Batch batch;
    private volatile boolean cancelled;

    /** The reason why a result could not be stored. */
    private volatile @Nullable RuntimeException fault;

    Run(Batch batch) {
      this.batch = batch;
      cancelled = batch.status() == BatchStatus.CANCELLING;
    }

    void follow() {
      lines.follow();
    }

    void interrupt() {
      main.interrupt();
      senders.forEach(Thread::interrupt);
    }

    private boolean ended() {
      return stopped || cancelled;
    }

    @Override
    public boolean halted() {
      return ended() || yields || fault != null;
    }

    private boolean full() {
      return store.room().used() > Math.max(room, settings.get().maxTotalBytes());
    }

    synchronized @Nullable Batch cancel() {
      BatchStatus status = batch.status();
      if (!status.open() || status == BatchStatus.FINALIZING) {
        return null;
      }
      if (status != BatchStatus.CANCELLING) {
        cancelled = true;
        change(batch.with(BatchStatus.CANCELLING, now()));
        interrupt();
      }
      return store.batch(batch.id());
    }

    private synchronized void change(Batch next) {
      batch = next;
      store.update(next);
    }

    /** Enters a state, unless the batch was cancelled or the router stops. */
    private synchronized boolean enter(Batch next) {
      if (ended()) {
        return false;
      }
      change(next);
      return true;
    }

    private void run() {
      try {
        started.await();
        workInPlace();
        while (yields && !ended() && batch.status() == BatchStatus.IN_PROGRESS) {
          requests.sleep(pause);
          yields = false;
          workInPlace();
        }
      } catch (InterruptedException e) {
        LOG.debug("batch {} was interrupted", batch.id());
      } catch (IOException | RuntimeException e) {
        failed(e);
      } finally {
        end();
      }
    }

    private void workInPlace() throws IOException, InterruptedException {
      running.enter(batch.owner());
      since = now();
      clients.enter(batch);
      try {
        work();
      } finally {
        clients.leave(batch);
        running.leave(batch.owner());
      }
    }

    @Override
    public void waits(long millis) {
      synchronized (limited) {
        limited.put(Thread.currentThread(), millis);
      }
      yieldIfAllWait();
    }

    @Override
    public void goesOn() {
      synchronized (limited) {
        limited.remove(Thread.currentThread());
      }
    }

    private void yieldIfAllWait() {
      synchronized (limited) {
        boolean all =
            limited.size() == senders.size() && (allRead || lines.availablePermits() <= 0);
        if (all && now() - since >= TURN.toSeconds() && running.wanted(batch.owner())) {
          pause = limited.values().stream().mapToLong(Long::longValue).min().orElse(0);
          yields = true;
          limited.keySet().forEach(Thread::interrupt);
        }
      }
    }

    /** Ends a batch that was cancelled. The interrupt has done its work. */
    private void end() {
      boolean wasInterrupted = Thread.interrupted();
      try {
        if (cancelled && !stopped && batch.status().open()) {
          finish(BatchStatus.CANCELLED);
        }
      } catch (IOException | RuntimeException e) {
        failed(e);
      } finally {
        runs.remove(batch.id());
        LOG.debug("batch {} ends, interrupted: {}", batch.id(), wasInterrupted);
      }
    }

    private void failed(Exception e) {
      if (stopped) {
        LOG.debug("batch {} stops", batch.id(), e);
        return;
      }
      LOG.error("batch {} failed", batch.id(), e);
      fail(errors("internal", "the router failed on this batch; its log has the reason"));
      store.deleteResults(batch);
    }

    private static ArrayNode errors(String code, String message) {
      ArrayNode errors = Answers.MAPPER.createArrayNode();
      ObjectNode error = errors.addObject();
      error.put("code", code);
      error.put("message", message);
      error.putNull("param");
      error.putNull("line");
      return errors;
    }

    private void fail(ArrayNode errors) {
      change(failure(errors));
      LOG.warn("batch {} has failed: {}", batch.id(), errors.path(0).path("message").asText());
    }

    private Batch failure(ArrayNode errors) {
      Batch next = batch.with(BatchStatus.FAILED, now());
      ObjectNode list = next.json().putObject("errors");
      list.put("object", "list");
      list.set("data", errors);
      return next;
    }

    private void work() throws IOException, InterruptedException {
      if (batch.status() == BatchStatus.VALIDATING && !validate()) {
        return;
      }
      if (batch.status() == BatchStatus.IN_PROGRESS) {
        send();
        RuntimeException unstored = fault;
        if (unstored != null && !ended()) {
          throw unstored;
        }
        if (full() && !ended()) {
          finish(failure(errors("storage_full", "the results exceed batch.max-total")));
          return;
        }
        if (yields || ended() || !enter(batch.with(BatchStatus.FINALIZING, now()))) {
          return;
        }
      }
      if (batch.status() == BatchStatus.FINALIZING) {
        Batch counted = store.batch(batch.id());
        int ended = counted == null ? 0 : counted.completed() + counted.failed();
        finish(ended < batch.total() ? BatchStatus.EXPIRED : BatchStatus.COMPLETED);
      }
    }

    private Path input() throws IOException {
      StoredFile file = store.file(batch.input());
      if (file == null) {
        throw new IOException("the input file " + batch.input() + " is gone");
      }
      return store.content(file);
    }

    private boolean validate() throws IOException {
      InputCheck check =
          new InputCheck(batch.endpoint(), settings.get().maxRequests()).read(input());
      if (ended()) {
        return false;
      }
      if (!check.errors().isEmpty()) {
        fail(check.errors());
        return false;
      }
      Batch next = batch.with(BatchStatus.IN_PROGRESS, now());
      next.json().put("total", check.total());
      return enter(next);
    }

    /** Sends the requests without a result, until all have one or the batch expires. */
    private void send() throws IOException, InterruptedException {
      allRead = false;
      BitSet done = store.done(batch);
      try (Lines lines = new Lines(input())) {
        for (String line = lines.next(); line != null; line = lines.next()) {
          if (halted() || full() || now() >= batch.expiresAt()) {
            break;
          }
          if (!done.get(lines.number())) {
            this.lines.acquire();
            send(lines.number(), line);
          }
        }
      } finally {
        if (ended()) {
          interrupt();
        }
      }
      allRead = true;
      for (Thread sender : senders) {
        sender.join();
      }
    }

    private void send(int number, String line) {
      Batch of = batch;
      Thread sender =
          Thread.ofVirtual()
              .name("pointsman-batch-request")
              .unstarted(
                  () -> {
                    try {
                      requests.send(of, number, line, this);
                    } catch (RuntimeException e) {
                      fault = e;
                    } finally {
                      lines.release();
                      senders.remove(Thread.currentThread());
                    }
                  });
      senders.add(sender);
      sender.start();
      if (ended()) {
        sender.interrupt();
      }
    }

    /** Writes the results to files, and closes the batch. */
    private void finish(BatchStatus end) throws IOException {
      for (Thread sender : senders) {
        try {
          sender.join();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          return;
        }
      }
      if (end == BatchStatus.EXPIRED) {
        expire();
      }
      finish(batch.with(end, now()));
    }

    private void finish(Batch next) throws IOException {
      next.json().put("output_file_id", write("output", false));
      next.json().put("error_file_id", write("error", true));
      change(next);
      store.deleteResults(batch);
      LOG.info("batch {} is {}", batch.id(), next.status().word());
    }

    /** Gives each request without a result an error. */
    private void expire() throws IOException {
      BitSet done = store.done(batch);
      try (Lines lines = new Lines(input())) {
        for (String line = lines.next(); line != null; line = lines.next()) {
          if (!done.get(lines.number())) {
            requests.expired(batch, lines.number(), line);
          }
        }
      }
    }

    /** Writes results to a file. Returns its id, or null if there are none. */
    private @Nullable String write(String kind, boolean failed) throws IOException {
      BatchStore.Result result = store.result(batch, failed, 0);
      if (result == null) {
        return null;
      }
      String id = BatchStore.FILE_ID + kind + "-" + batch.id().substring("batch_".length());
      Path to = store.unfinished(id);
      try (BufferedWriter out = Files.newBufferedWriter(to)) {
        // One at a time, because each can have megabytes.
        while (result != null) {
          out.write(result.json());
          out.write('\n');
          result = store.result(batch, failed, result.line() + 1);
        }
      }
      StoredFile before = store.file(id);
      if (before != null) {
        store.delete(before);
      }
      String name = batch.id() + "_" + kind + ".jsonl";
      store.room().take(batch.owner(), Files.size(to));
      store.add(new StoredFile(id, Files.size(to), now(), name, "batch_output", batch.owner()));
      return id;
    }
  }
}
