package io.pointsman.proxy.tls;

import io.netty.handler.ssl.SslContext;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A context of Netty that is replaced while other threads use it. With OpenSSL it has memory
 * outside the heap: {@link #close} frees it as soon as no connection uses it.
 */
public final class SharedContext implements AutoCloseable {
  private final SslContext context;

  public SharedContext(SslContext context) {
    this.context = context;
  }

  /** The result of {@code use}; null if the context is closed, so a newer one is needed. */
  public <T> @Nullable T with(Function<SslContext, T> use) {
    try {
      ReferenceCountUtil.retain(context);
    } catch (IllegalReferenceCountException _) {
      return null;
    }
    try {
      return use.apply(context);
    } finally {
      ReferenceCountUtil.release(context);
    }
  }

  @Override
  public void close() {
    ReferenceCountUtil.release(context);
  }
}
