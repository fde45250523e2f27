package io.pointsman.server.wiring;

import java.io.IOException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The address of a listener. It may begin, change and end at run time. A new listener is bound
 * before the change, and begins after it. Thread-safe.
 *
 * @param <L> the listener
 */
final class ListenerAddress<L> {
  /** Binds a listener. */
  @FunctionalInterface
  interface Binding<L> {
    /**
     * Binds an address.
     *
     * @throws IOException if it cannot be bound
     */
    L bind(String address) throws IOException;
  }

  private final Binding<L> binding;
  private final Consumer<L> close;
  private final BiConsumer<@Nullable L, @Nullable L> replaced;

  /** Empty without a listener. Guarded by this. */
  private String address = "";

  /** Null without an address. */
  private volatile @Nullable L present;

  /**
   * @param close closes a listener at once
   * @param replaced called after a change: ends the first listener and begins the second one; null:
   *     there is none
   */
  ListenerAddress(
      Binding<L> binding, Consumer<L> close, BiConsumer<@Nullable L, @Nullable L> replaced) {
    this.binding = binding;
    this.close = close;
    this.replaced = replaced;
  }

  /** The listener in use; null without an address. */
  @Nullable L present() {
    return present;
  }

  /**
   * Opens the first address.
   *
   * @param first empty: none
   * @throws IOException if it cannot be bound
   */
  void open(String first) throws IOException {
    Change change = prepared(first);
    change.apply();
    change.finish();
  }

  /**
   * Binds another address.
   *
   * @param next empty: none
   * @throws IOException if it cannot be bound
   */
  synchronized Change prepared(String next) throws IOException {
    boolean binds = !next.isEmpty() && !next.equals(address);
    return new Change(next, binds ? binding.bind(next) : null);
  }

  /** Another address, before and while it is in use. */
  final class Change implements Replacement {
    private final String next;
    private final @Nullable L bound;
    private final String addressBefore = address;
    private final @Nullable L before = present;

    private Change(String next, @Nullable L bound) {
      this.next = next;
      this.bound = bound;
    }

    private boolean same() {
      return next.equals(addressBefore);
    }

    @Override
    public void apply() {
      put(next, same() ? before : bound);
    }

    @Override
    public void undo() {
      put(addressBefore, before);
    }

    @Override
    public void drop() {
      if (bound != null) {
        close.accept(bound);
      }
    }

    @Override
    public void finish() {
      replaced.accept(same() ? null : before, bound);
    }
  }

  private synchronized void put(String by, @Nullable L listener) {
    address = by;
    present = listener;
  }

  /** Closes the listener in use. */
  void close() {
    L last = present;
    if (last != null) {
      close.accept(last);
    }
  }
}
