package io.pointsman.proxy.tls;

import java.security.KeyManagementException;
import java.security.SecureRandom;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Delegates to the current context, which changes with its files. Its engines have the rules of
 * {@link GuardedEngine}.
 */
final class CurrentContext extends SSLContext {
  /**
   * @param handshakes runs the computations of handshakes
   */
  CurrentContext(Supplier<SSLContext> current, Executor handshakes) {
    super(new Spi(current, handshakes), current.get().getProvider(), "TLS");
  }

  private static final class Spi extends SSLContextSpi {
    private final Supplier<SSLContext> current;
    private final Executor handshakes;

    Spi(Supplier<SSLContext> current, Executor handshakes) {
      this.current = current;
      this.handshakes = handshakes;
    }

    @Override
    protected void engineInit(
        KeyManager @Nullable [] keys,
        TrustManager @Nullable [] trusted,
        @Nullable SecureRandom random)
        throws KeyManagementException {
      throw new KeyManagementException("the context is complete");
    }

    @Override
    protected SSLSocketFactory engineGetSocketFactory() {
      return current.get().getSocketFactory();
    }

    @Override
    protected SSLServerSocketFactory engineGetServerSocketFactory() {
      return current.get().getServerSocketFactory();
    }

    @Override
    protected SSLEngine engineCreateSSLEngine() {
      return new GuardedEngine(current.get().createSSLEngine(), handshakes);
    }

    @Override
    protected SSLEngine engineCreateSSLEngine(String host, int port) {
      return new GuardedEngine(current.get().createSSLEngine(host, port), handshakes);
    }

    @Override
    protected SSLSessionContext engineGetServerSessionContext() {
      return current.get().getServerSessionContext();
    }

    @Override
    protected SSLSessionContext engineGetClientSessionContext() {
      return current.get().getClientSessionContext();
    }
  }
}
