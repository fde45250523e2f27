package io.pointsman.proxy.telemetry;

import java.util.concurrent.atomic.LongAdder;

/** Counters of clients' connections by protocol. Thread-safe. */
public final class ConnectionTally {
  private final LongAdder http1 = new LongAdder();
  private final LongAdder http2 = new LongAdder();
  private final LongAdder http1OverTls = new LongAdder();
  private final LongAdder http2OverTls = new LongAdder();
  private final LongAdder failedHandshakes = new LongAdder();

  /** Counts a connection when its protocol is known. */
  public void began(boolean withHttp2, boolean overTls) {
    if (withHttp2) {
      (overTls ? http2OverTls : http2).increment();
    } else {
      (overTls ? http1OverTls : http1).increment();
    }
  }

  /** Counts a failed TLS handshake. */
  public void handshakeFailed() {
    failedHandshakes.increment();
  }

  /** Number of connections with this protocol since the start. */
  public long begun(boolean withHttp2, boolean overTls) {
    if (withHttp2) {
      return (overTls ? http2OverTls : http2).sum();
    }
    return (overTls ? http1OverTls : http1).sum();
  }

  /** Number of failed TLS handshakes since the start. */
  public long failedHandshakes() {
    return failedHandshakes.sum();
  }
}
