package io.pointsman.proxy.upstream;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.wire.RequestHeadWriter;
import java.net.URI;

/**
 * Where a worker is and how it is spoken to. Immutable.
 *
 * @param tls whether the connection is encrypted
 * @param host name or address, without the brackets of an IPv6 address
 */
record WorkerTarget(boolean tls, String host, int port, RequestHeadWriter heads) {

  static WorkerTarget of(WorkerSpec spec, EngineKeys keys) {
    URI uri = URI.create(spec.url());
    boolean tls = "https".equals(uri.getScheme());
    String host = uri.getHost();
    if (host == null) {
      throw new IllegalArgumentException("url: " + spec.url() + " (expected: a host)");
    }
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    int port = uri.getPort() > 0 ? uri.getPort() : tls ? 443 : 80;
    String authority = uri.getPort() > 0 ? host + ":" + port : host;
    String path = uri.getRawPath() == null ? "" : uri.getRawPath();
    String base = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    return new WorkerTarget(
        tls, bare, port, new RequestHeadWriter(base, authority, spec.rank(), keys.of(spec.role())));
  }
}
