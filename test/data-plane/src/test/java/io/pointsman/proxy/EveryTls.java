package io.pointsman.proxy;

import io.pointsman.proxy.tls.TlsProvider;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Runs a test class once per transport ({@link EveryTransport}) and implementation of TLS. On
 * systems for which BoringSSL is built, it must load.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("transports")
@ParameterizedClass
@MethodSource("io.pointsman.proxy.EveryTls$Chosen#pairs")
@interface EveryTls {
  /** The pairs of transports and implementations of TLS. */
  final class Chosen {
    private Chosen() {}

    static Stream<Arguments> pairs() {
      return EveryTransport.Chosen.transports()
          .flatMap(transport -> providers().map(each -> Arguments.of(transport, each)));
    }

    static Stream<TlsProvider> providers() {
      return System.getProperty("os.name").equals("Linux")
          ? Stream.of(TlsProvider.OPENSSL, TlsProvider.JDK)
          : Stream.of(TlsProvider.JDK);
    }
  }
}
