package io.pointsman.proxy.tls;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.ReferenceCounted;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.pointsman.testkit.TestCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Contexts of TLS and their memory outside the heap. */
@Timeout(60)
class ServerTlsTest {
  @TempDir private static Path directory = Path.of(".");

  private static ServerTls open(String name, TlsProvider provider) throws Exception {
    TestCertificate one = TestCertificate.make(directory, name, "dns:localhost");
    ServerTlsSettings settings =
        new ServerTlsSettings(
            one.certificate().toString(),
            one.key().toString(),
            "",
            "",
            ClientCertificates.REQUIRED,
            Duration.ofSeconds(1));
    return ServerTls.open("tls", settings, true, provider);
  }

  private static void replace(String name) throws Exception {
    Path others = Files.createTempDirectory(directory, "others");
    TestCertificate fresh = TestCertificate.make(others, name, "dns:localhost");
    Files.copy(
        fresh.certificate(), directory.resolve(name + ".crt"), StandardCopyOption.REPLACE_EXISTING);
    Files.copy(fresh.key(), directory.resolve(name + ".key"), StandardCopyOption.REPLACE_EXISTING);
  }

  private static void close(SslHandler handler) {
    ReferenceCountUtil.release(handler.engine());
  }

  @Test
  void memoryOfAReplacedContextIsFreeAfterItsLastConnection() throws Exception {
    ServerTls tls = open("memory", TlsProvider.AUTO);
    SharedContext first = tls.present();
    List<SslContext> seen = new ArrayList<>();
    Boolean added = first.with(seen::add);
    assertThat(added).isTrue();
    SslHandler connection = handler(tls);

    replace("memory");
    tls.refresh();
    assertThat(tls.present()).isNotSameAs(first);
    if (seen.getFirst() instanceof ReferenceCounted memory) {
      assertThat(memory.refCnt()).isEqualTo(1);
      close(connection);
      assertThat(memory.refCnt()).isZero();
      Boolean again = first.with(seen::add);
      assertThat(again).isNull();
      assertThat(seen).hasSize(1);
    }
    tls.close();
  }

  private static SslHandler handler(ServerTls tls) {
    return requireNonNull(tls.handshake(UnpooledByteBufAllocator.DEFAULT), "open").handler();
  }

  /** A connection that begins during the replacement gets one of the two contexts. */
  @ParameterizedTest
  @EnumSource
  void connectionsBeginWhileFilesChange(TlsProvider provider) throws Exception {
    String name = "busy-" + provider.name().toLowerCase(Locale.ROOT);
    ServerTls tls = open(name, provider);
    AtomicBoolean over = new AtomicBoolean();
    List<Throwable> failures = new ArrayList<>();
    Thread busy =
        Thread.ofPlatform()
            .uncaughtExceptionHandler((_, failure) -> failures.add(failure))
            .start(
                () -> {
                  while (!over.get()) {
                    close(handler(tls));
                  }
                });
    try {
      for (int i = 0; i < 5; i++) {
        SharedContext before = tls.present();
        replace(name);
        tls.refresh();
        assertThat(tls.present()).isNotSameAs(before);
      }
    } finally {
      over.set(true);
      busy.join();
      tls.close();
    }
    assertThat(failures).isEmpty();
  }
}
