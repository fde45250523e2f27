package io.pointsman.server.cli;

import java.util.List;

/**
 * Opens the jars that requests need, while file descriptors are available. The class loader
 * otherwise opens a jar on first use, possibly when no descriptor is left. A class that failed to
 * load once fails on each later use, and the router cannot recover.
 */
final class OpenJars {
  /** One resource of each jar. */
  private static final List<String> IN_EACH =
      List.of(
          "io/pointsman/server/cli/OpenJars.class",
          "io/pointsman/engine/RoutingEngine.class",
          "io/pointsman/proxy/ProxyServer.class",
          "io/pointsman/request/RequestReader.class",
          "io/pointsman/pd/execution/PdContext.class",
          "io/pointsman/config/PointsmanConfig.class",
          "io/pointsman/control/health/Prober.class",
          "io/pointsman/observe/metrics/RouterMetrics.class",
          "io/pointsman/api/admin/HealthApi.class",
          "io/pointsman/plane/haproxy/SpoeListener.class",
          "io/netty/bootstrap/Bootstrap.class",
          "io/netty/buffer/ByteBuf.class",
          "io/netty/channel/epoll/Epoll.class",
          "io/netty/channel/unix/Socket.class",
          "io/netty/channel/uring/IoUring.class",
          "io/netty/handler/codec/http/HttpResponseStatus.class",
          "io/netty/util/concurrent/Future.class",
          "io/prometheus/metrics/core/metrics/Counter.class",
          "io/prometheus/metrics/expositionformats/ExpositionFormats.class",
          "ch/qos/logback/classic/Logger.class",
          "ch/qos/logback/core/Appender.class",
          "org/slf4j/Logger.class");

  private OpenJars() {}

  /**
   * Opens the jars.
   *
   * @return resources that no jar contains
   */
  static List<String> open() {
    return IN_EACH.stream().filter(name -> ClassLoader.getSystemResource(name) == null).toList();
  }
}
