package io.pointsman.proxy.telemetry;

/** Reads events and passes all of them on. */
public abstract class ForwardingListener implements ProxyListener {
  private final ProxyListener next;

  protected ForwardingListener(ProxyListener next) {
    this.next = next;
  }

  /** Receives an event before the next listener. */
  protected abstract void read(RequestEvent event);

  @Override
  public final void on(RequestEvent event) {
    read(event);
    next.on(event);
  }

  @Override
  public boolean readsUsage() {
    return next.readsUsage();
  }

  @Override
  public boolean receivesOwnAnswers() {
    return next.receivesOwnAnswers();
  }
}
