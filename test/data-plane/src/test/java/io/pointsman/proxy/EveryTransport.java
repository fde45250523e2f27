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
 * Runs a test class once per transport. The gate uses {@link Transport#AUTO}; the full tests use
 * the others. A class that is run by its name uses all of them.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("transports")
@ParameterizedClass
@MethodSource("io.pointsman.proxy.EveryTransport$Chosen#transports")
@interface EveryTransport {
  /** Transports in the property {@code pointsman.transports}. */
  final class Chosen {
    private Chosen() {}

    static Stream<Transport> transports() {
      String names = System.getProperty("pointsman.transports", "AUTO,EPOLL,NIO");
      return Stream.of(names.split(",", -1)).map(Transport::valueOf);
    }
  }
}
