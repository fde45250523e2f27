package io.pointsman.proxy;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs a test class once for each transport: for {@link Transport#AUTO} in the gate, for the others
 * in the full tests, and for all of them where a class is run by its name.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("transports")
@ParameterizedClass
@MethodSource("io.pointsman.proxy.EveryTransport$Chosen#transports")
@interface EveryTransport {
  /** Those that the build asks for. */
  final class Chosen {
    private Chosen() {}

    static Stream<Transport> transports() {
      String names = System.getProperty("pointsman.transports", "AUTO,EPOLL,NIO");
      return Stream.of(names.split(",", -1)).map(Transport::valueOf);
    }
  }
}
