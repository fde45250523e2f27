package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.wire.RequestHead;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request that waits for the check of its caller. It buffers the part of the body that was read
 * together with the head; reading from the client pauses. Belongs to the client's event loop.
 */
final class AskingExchange implements ClientStream {
  private static final Logger LOG = LoggerFactory.getLogger(AskingExchange.class);

  private final ClientConnection client;
  private final Dispatcher reception;
  private final RequestHead head;
  private final @Nullable Caller admin;
  private final Deque<ByteBuf> parts = new ArrayDeque<>();
  private boolean received;
  private boolean broken;
  private boolean over;

  /**
   * @param admin the caller of an admin path that has the client's headers; null for other paths
   */
  AskingExchange(
      ClientConnection client, Dispatcher reception, RequestHead head, @Nullable Caller admin) {
    this.admin = admin;
    this.client = client;
    this.reception = reception;
    this.head = head;
  }

  /** Starts the check of {@code authorization}. */
  void ask(CallerCheck check, String authorization) {
    client.setReading(false);
    Thread.ofVirtual().name("pointsman-caller").start(() -> asked(check, authorization));
  }

  /** Runs on a virtual thread. */
  private void asked(CallerCheck check, String authorization) {
    CallerCheck.Admittance found = CallerCheck.Admittance.of(CallerCheck.Verdict.UNKNOWN);
    try {
      found = check.askAdmission(authorization);
    } catch (RuntimeException e) {
      LOG.error("a client's key could not be checked", e);
    }
    CallerCheck.Admittance admission = found;
    try {
      client.state().loop().execute(() -> decided(admission));
    } catch (RejectedExecutionException e) {
      LOG.debug("the router stopped before a client's key was checked", e);
    }
  }

  private void decided(CallerCheck.Admittance admission) {
    if (over) {
      return;
    }
    over = true;
    client.setReading(true);
    switch (admission.verdict()) {
      case ADMITTED -> {
        client.take(null);
        reception.dispatch(Dispatcher.named(head, admission), admin);
        handOver(client.current());
      }
      case REFUSED -> {
        release();
        reception.refuseCaller(head);
      }
      case UNKNOWN -> {
        release();
        answer(ProxyError.KEY_UNCONFIRMED);
      }
    }
  }

  private void handOver(@Nullable ClientStream next) {
    if (next == null) {
      release();
      return;
    }
    for (ByteBuf part = parts.poll(); part != null; part = parts.poll()) {
      if (client.busyWith(next)) {
        next.content(part);
      } else {
        part.release();
      }
    }
    if (client.busyWith(next)) {
      if (broken) {
        next.contentBroken();
      } else if (received) {
        next.contentEnd();
      }
    }
    if (client.busyWith(next)) {
      next.contentPause();
    }
  }

  private void release() {
    parts.forEach(ByteBuf::release);
    parts.clear();
  }

  @Override
  public void begin() {}

  @Override
  public void content(ByteBuf part) {
    if (over) {
      part.release();
    } else {
      parts.add(part);
    }
  }

  @Override
  public void contentEnd() {
    received = true;
  }

  @Override
  public void contentBroken() {
    broken = true;
  }

  @Override
  public void contentPause() {}

  @Override
  public boolean received() {
    return received;
  }

  @Override
  public void clientGone() {
    over = true;
    release();
  }

  @Override
  public void clientWritable(boolean writable) {}

  @Override
  public void checkTimeouts(long now) {}

  @Override
  public void cut() {
    if (!over) {
      over = true;
      release();
      answer(ProxyError.SHUTTING_DOWN);
    }
  }

  private void answer(ProxyError error) {
    client
        .replies()
        .reply(
            head,
            client.state().server().live().requestIds().of(head),
            Reply.of(error, error.message()),
            received,
            error,
            0);
  }
}
