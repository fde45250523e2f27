package io.pointsman.app.cli;

import java.util.List;

/**
 * Has the class loader open the jars that requests need, while there are file descriptors. It opens
 * a jar when it first looks for something in it, which may be when no descriptor is left; and a
 * class that could not be loaded once fails for good, so that the router would not recover.
 */
final class OpenJars {
  /** A resource of each jar. */
  private static final List<String> IN_EACH =
      List.of(
          "io/pointsman/app/cli/OpenJars.class",
          "io/pointsman/engine/RoutingEngine.class",
          "io/pointsman/proxy/ProxyServer.class",
          "io/pointsman/request/RequestReader.class",
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

  /** Opens them; answers what is in none of them. */
  static List<String> open() {
    return IN_EACH.stream().filter(name -> ClassLoader.getSystemResource(name) == null).toList();
  }
}
