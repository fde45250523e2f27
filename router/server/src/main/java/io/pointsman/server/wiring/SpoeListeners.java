package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.plane.haproxy.SpoeListener;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRoutes;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The address where HAProxy asks by SPOE. It may begin, change and end at run time. The new one is
 * bound before the change and accepts connections after it. Thread-safe.
 */
final class SpoeListeners implements AutoCloseable {
  /** Maximum number of earlier listeners with connections; a further one ends the oldest. */
  private static final int MOST_EARLIER = 4;

  private final ListenerAddress<SpoeListener> address =
      new ListenerAddress<>(SpoeListener::bind, SpoeListener::close, this::replaced);

  /** Guarded by this, like the following fields. */
  private final Deque<SpoeListener> earlier = new ArrayDeque<>();

  /** Null before the routes are built. */
  private @Nullable LocalEndpoint route;

  private CallerCheck callers = CallerCheck.NONE;

  /** Sets the answers for connections that begin later. */
  synchronized void answerBy(LocalEndpoint next, CallerCheck check) {
    route = next;
    callers = check;
  }

  /** Adds the route with the address in use. */
  void addTo(LocalRoutes.Builder routes) {
    SpoeListener.addTo(routes, address::present);
  }

  /** Opens the first address, see {@link ListenerAddress#open}. */
  void open(String first) throws IOException {
    address.open(first);
  }

  /** Binds another address, see {@link ListenerAddress#prepared}. */
  ListenerAddress<SpoeListener>.Change prepared(String next) throws IOException {
    return address.prepared(next);
  }

  /** Connections of the earlier address end after their answers in progress. */
  private synchronized void replaced(@Nullable SpoeListener before, @Nullable SpoeListener next) {
    if (next != null) {
      next.begin(requireNonNull(route, "route"), callers);
    }
    if (before != null) {
      retire(before);
    }
  }

  private void retire(SpoeListener before) {
    before.retire();
    earlier.removeIf(SpoeListener::ended);
    earlier.add(before);
    if (earlier.size() > MOST_EARLIER) {
      earlier.remove().close();
    }
  }

  @Override
  public synchronized void close() {
    address.close();
    earlier.forEach(SpoeListener::close);
  }
}
