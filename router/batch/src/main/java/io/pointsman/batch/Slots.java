package io.pointsman.batch;

import java.util.concurrent.Semaphore;
import java.util.function.IntSupplier;

/**
 * A semaphore with a number of permits that follows a setting. With fewer permits the taken ones
 * stay until their release.
 */
final class Slots extends Semaphore {
  private static final long serialVersionUID = 1;

  private final transient IntSupplier setting;

  /** Guarded by this. */
  private int most;

  /**
   * @param setting the number of permits at present
   * @param fair true to serve waiting threads in their order
   */
  Slots(IntSupplier setting, boolean fair) {
    super(0, fair);
    this.setting = setting;
    most = setting.getAsInt();
    release(most);
  }

  /** Follows a changed setting. */
  synchronized void follow() {
    // Read under the lock: of two threads, the later one must not use an earlier value.
    int next = setting.getAsInt();
    if (next > most) {
      release(next - most);
    } else {
      reducePermits(most - next);
    }
    most = next;
  }
}
