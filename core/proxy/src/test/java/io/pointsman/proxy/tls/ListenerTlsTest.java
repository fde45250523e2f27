package io.pointsman.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.pointsman.testkit.TestCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@SuppressWarnings("NullAway.Init") // set before the tests
class ListenerTlsTest {
  @TempDir static Path directory;
  private static TestCertificate one;
  private static TestCertificate two;

  @BeforeAll
  static void make() throws Exception {
    one = TestCertificate.make(directory, "one", "ip:127.0.0.1");
    two = TestCertificate.make(directory, "two", "ip:127.0.0.1");
  }

  private static ServerTlsSettings settings(Path certificate, Path key, String authorities) {
    return new ServerTlsSettings(
        certificate.toString(),
        key.toString(),
        "",
        authorities,
        ClientCertificates.REQUIRED,
        Duration.ofSeconds(7));
  }

  private static ServerTlsSettings of(TestCertificate certificate) {
    return settings(certificate.certificate(), certificate.key(), "");
  }

  private static ListenerTls.OfConnection connection(ListenerTls tls) {
    ListenerTls.OfConnection made = tls.connection(UnpooledByteBufAllocator.DEFAULT);
    SslHandler handler = made.handler();
    if (handler != null) {
      ReferenceCountUtil.release(handler.engine());
    }
    return made;
  }

  @ParameterizedTest
  @EnumSource
  void tlsBeginsChangesAndEnds(TlsProvider provider) {
    try (ListenerTls tls = ListenerTls.open("tls", ServerTlsSettings.OFF, true, provider)) {
      ListenerTls.OfConnection plain = connection(tls);
      assertThat(plain.handler()).isNull();

      ListenerTls.Change begin = tls.prepared(of(one), true, provider);
      assertThat(connection(tls).handler()).isNull();
      begin.apply();
      assertThat(begin.outdates()).isTrue();
      assertThat(plain.outdated()).isTrue();
      begin.finish();
      ListenerTls.OfConnection first = connection(tls);
      assertThat(first.handler()).isNotNull();

      ListenerTls.Change other = tls.prepared(of(two), true, provider);
      other.apply();
      other.finish();
      assertThat(other.outdates()).isFalse();
      assertThat(first.outdated()).isFalse();
      assertThat(connection(tls).handler()).isNotNull();

      ListenerTls.Change mutual =
          tls.prepared(
              settings(two.certificate(), two.key(), one.certificate().toString()), true, provider);
      mutual.apply();
      mutual.finish();
      assertThat(mutual.outdates()).isTrue();
      assertThat(first.outdated()).as("two changes after its own settings").isTrue();

      ListenerTls.Change end = tls.prepared(ServerTlsSettings.OFF, true, provider);
      end.apply();
      end.finish();
      assertThat(connection(tls).handler()).isNull();
      assertThat(tls.enabled()).isFalse();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aChangeThatIsUndoneLeavesTheEarlierTls(TlsProvider provider) {
    try (ListenerTls tls = ListenerTls.open("tls", of(one), true, provider)) {
      ListenerTls.OfConnection before = connection(tls);
      ListenerTls.Change change = tls.prepared(ServerTlsSettings.OFF, true, provider);
      change.apply();
      assertThat(before.outdated()).isTrue();
      assertThat(connection(tls).handler()).isNull();

      change.undo();
      change.drop();

      assertThat(before.outdated()).isFalse();
      assertThat(connection(tls).handler()).isNotNull();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aConnectionOfAChangeThatIsUndoneIsOutdated(TlsProvider provider) {
    ServerTlsSettings mutual = settings(one.certificate(), one.key(), two.certificate().toString());
    try (ListenerTls tls = ListenerTls.open("tls", mutual, true, provider)) {
      ListenerTls.Change change = tls.prepared(ServerTlsSettings.OFF, true, provider);
      change.apply();
      ListenerTls.OfConnection between = connection(tls);
      assertThat(between.outdated()).isFalse();

      change.undo();
      change.drop();

      assertThat(between.outdated()).isTrue();
    }
  }

  @ParameterizedTest
  @EnumSource
  void otherAuthoritiesInTheSameFileOutdateConnections(TlsProvider provider) throws Exception {
    Path authorities = directory.resolve("ca-" + provider + ".crt");
    Path certificate = directory.resolve("own-" + provider + ".crt");
    Files.copy(one.certificate(), authorities);
    Files.writeString(certificate, Files.readString(one.certificate()));
    ServerTlsSettings mutual = settings(certificate, one.key(), authorities.toString());
    try (ListenerTls tls = ListenerTls.open("tls", mutual, true, provider)) {
      ListenerTls.OfConnection first = connection(tls);
      Files.writeString(certificate, "\n", StandardOpenOption.APPEND);
      assertThat(tls.refresh()).as("the same certificates").isFalse();
      assertThat(first.outdated()).isFalse();

      Files.copy(two.certificate(), authorities, StandardCopyOption.REPLACE_EXISTING);
      assertThat(tls.refresh()).isTrue();

      assertThat(first.outdated()).isTrue();
      assertThat(connection(tls).outdated()).isFalse();
    }
  }

  @Test
  void filesThatCannotBeUsedChangeNothing() {
    try (ListenerTls tls = ListenerTls.open("admin-tls", of(one), false, TlsProvider.AUTO)) {
      Path missing = directory.resolve("missing.crt");
      assertThatThrownBy(
              () -> tls.prepared(settings(missing, one.key(), ""), false, TlsProvider.AUTO))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("admin-tls.certificate-file: " + missing);
      assertThatThrownBy(
              () ->
                  tls.prepared(settings(one.certificate(), two.key(), ""), false, TlsProvider.AUTO))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("admin-tls.key-file: " + two.key());
      assertThat(connection(tls).handler()).isNotNull();
    }
  }

  @Test
  void theSameSettingsKeepTheContext() {
    try (ListenerTls tls = ListenerTls.open("tls", of(one), true, TlsProvider.AUTO)) {
      ListenerTls.Change same = tls.prepared(of(one), true, TlsProvider.AUTO);
      same.apply();
      same.finish();
      assertThat(connection(tls).handler()).isNotNull();
      ListenerTls.Change others = tls.prepared(of(one), false, TlsProvider.AUTO);
      others.apply();
      others.finish();
      assertThat(others.outdates()).isFalse();
      assertThat(connection(tls).handler()).isNotNull();
    }
  }

  @Test
  void aClosedListenerMakesNoConnections() {
    ListenerTls tls = ListenerTls.open("tls", of(one), true, TlsProvider.AUTO);
    tls.close();
    assertThatThrownBy(() -> connection(tls))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("tls: closed (expected: open)");
  }
}
