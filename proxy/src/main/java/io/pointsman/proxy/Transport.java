package io.pointsman.proxy;

/** Which of the system's ways of waiting for sockets is used. */
public enum Transport {
  /** Epoll where its native library loads, else NIO. */
  AUTO,
  EPOLL,
  NIO
}
