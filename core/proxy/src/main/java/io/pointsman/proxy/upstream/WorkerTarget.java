package io.pointsman.proxy.upstream;

import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.proxy.wire.RouterId;
import java.net.URI;

/**
 * Address of a worker, and the writer of its request heads. Immutable.
 *
 * @param tls true if the connection is encrypted
 * @param host name or address, without the brackets of an IPv6 address
 */
record WorkerTarget(boolean tls, String host, int port, RequestHeadWriter heads) {

  static WorkerTarget of(WorkerSpec spec, EngineKeys keys, RouterId router) {
    URI uri = URI.create(spec.base());
    boolean tls = "https".equals(uri.getScheme());
    HostPort at = HostPort.ofUrl(spec.url());
    int port = at.portOr(tls ? 443 : 80);
    String authority = at.port() == HostPort.NONE ? at.host() : at.host() + ":" + port;
    String path = uri.getRawPath() == null ? "" : uri.getRawPath();
    String base = path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
    return new WorkerTarget(
        tls,
        at.bareHost(),
        port,
        new RequestHeadWriter(
            base, authority, spec.rank(), keys.of(spec), keys.dropsClients(spec), router));
  }
}
