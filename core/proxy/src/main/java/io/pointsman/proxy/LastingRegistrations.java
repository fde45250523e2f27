package io.pointsman.proxy;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollIoOps;

/**
 * An epoll handler that keeps a channel registered while it waits for no event.
 *
 * <p>Netty removes such a channel from the epoll set, but still takes it for registered. The next
 * wait for an event then fails, and Netty closes the channel. A client that has ended its input has
 * no events between two writes, so a longer answer would be cut where the socket's buffer is full.
 */
final class LastingRegistrations implements IoHandler {
  private final IoHandler epoll;

  private LastingRegistrations(IoHandler epoll) {
    this.epoll = epoll;
  }

  static IoHandlerFactory newFactory() {
    IoHandlerFactory factory = EpollIoHandler.newFactory();
    return loop -> new LastingRegistrations(factory.newHandler(loop));
  }

  @Override
  public IoRegistration register(IoHandle handle) throws Exception {
    return new Lasting(epoll.register(handle));
  }

  @Override
  public void initialize() {
    epoll.initialize();
  }

  @Override
  public int run(IoHandlerContext context) {
    return epoll.run(context);
  }

  @Override
  public void prepareToDestroy() {
    epoll.prepareToDestroy();
  }

  @Override
  public void destroy() {
    epoll.destroy();
  }

  @Override
  public void wakeup() {
    epoll.wakeup();
  }

  @Override
  public boolean isCompatible(Class<? extends IoHandle> handleType) {
    return epoll.isCompatible(handleType);
  }

  /**
   * @param registration the one of Netty
   */
  private record Lasting(IoRegistration registration) implements IoRegistration {
    @Override
    @SuppressWarnings("TypeParameterUnusedInFormals") // Netty's own signature
    public <T> T attachment() {
      return registration.attachment();
    }

    /** The edge-triggered mode alone waits for errors, and reports each of them once. */
    @Override
    public long submit(IoOps ops) {
      return registration.submit(ops.equals(EpollIoOps.NONE) ? EpollIoOps.EPOLLET : ops);
    }

    @Override
    public boolean isValid() {
      return registration.isValid();
    }

    @Override
    public boolean cancel() {
      return registration.cancel();
    }
  }
}
