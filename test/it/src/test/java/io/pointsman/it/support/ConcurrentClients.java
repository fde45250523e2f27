package io.pointsman.it.support;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.function.IntFunction;

/** Many concurrent clients, each on a virtual thread. */
public final class ConcurrentClients {
  private ConcurrentClients() {}

  /**
   * Runs {@code count} calls, at most {@code atOnce} of them at a time, and waits for all.
   *
   * @return their results, in order
   * @throws ExecutionException with the first failure
   */
  public static <T> List<T> of(int count, int atOnce, IntFunction<Callable<T>> call)
      throws InterruptedException, ExecutionException {
    Semaphore places = new Semaphore(atOnce);
    List<Future<T>> futures = new ArrayList<>(count);
    try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < count; i++) {
        Callable<T> one = call.apply(i);
        places.acquire();
        futures.add(executor.submit(() -> inPlace(one, places)));
      }
    }
    List<T> answers = new ArrayList<>(count);
    for (Future<T> future : futures) {
      answers.add(future.get());
    }
    return answers;
  }

  /** Runs all calls at the same time. */
  public static <T> List<T> of(int count, IntFunction<Callable<T>> call)
      throws InterruptedException, ExecutionException {
    return of(count, count, call);
  }

  private static <T> T inPlace(Callable<T> call, Semaphore places) throws Exception {
    try {
      return call.call();
    } finally {
      places.release();
    }
  }
}
