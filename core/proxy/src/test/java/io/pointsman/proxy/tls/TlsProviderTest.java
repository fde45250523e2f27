package io.pointsman.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.ssl.SslProvider;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.TestCertificate.KeyKind;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The choice between BoringSSL and the JDK. */
class TlsProviderTest {
  private static Throwable missing() {
    return new IllegalArgumentException("names of classes", new UnsatisfiedLinkError("no library"));
  }

  @TempDir private static Path directory = Path.of(".");

  @Test
  void withoutTheLibraryOnlyAnExplicitChoiceIsRefused() {
    assertThat(TlsProvider.AUTO.choose(missing()))
        .isEqualTo(
            new TlsProvider.ProviderChoice(
                SslProvider.JDK,
                "the JDK (tls.provider is auto, BoringSSL cannot be loaded:"
                    + " java.lang.UnsatisfiedLinkError: no library)"));
    assertThat(TlsProvider.JDK.choose(null).provider()).isEqualTo(SslProvider.JDK);
    assertThatThrownBy(() -> TlsProvider.OPENSSL.choose(missing()))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("tls.provider: openssl (expected: auto or jdk")
        .hasMessageContaining("UnsatisfiedLinkError: no library");
  }

  @Test
  void withTheLibraryBothUseIt() {
    for (TlsProvider each : List.of(TlsProvider.AUTO, TlsProvider.OPENSSL)) {
      assertThat(each.choose(null).provider()).isEqualTo(SslProvider.OPENSSL_REFCNT);
    }
  }

  /** Clients usually have keys of the kind of their CA. BoringSSL would refuse these. */
  @Test
  void authoritiesWithKeysThatBoringSslDoesNotAcceptMeanTheJdk() throws Exception {
    X509Certificate rsa = certificate("rsa", KeyKind.RSA);
    X509Certificate edwards = certificate("edwards", KeyKind.ED25519);
    X509Certificate large = certificate("large", KeyKind.EC_P521);
    assertThat(TlsProvider.AUTO.chosen("g", rsa, List.of(rsa)))
        .isEqualTo(TlsProvider.AUTO.chosen());
    assertThat(TlsProvider.AUTO.chosen("g", rsa, List.of(rsa, edwards))).isEqualTo(SslProvider.JDK);
    assertThat(TlsProvider.AUTO.chosen("g", null, List.of(large))).isEqualTo(SslProvider.JDK);
    assertThat(TlsProvider.AUTO.chosen("g", edwards, List.of())).isEqualTo(SslProvider.JDK);
    assertThat(TlsProvider.AUTO.chosen("g", large, List.of())).isEqualTo(TlsProvider.AUTO.chosen());
  }

  private static X509Certificate certificate(String name, KeyKind kind) throws Exception {
    TestCertificate made = TestCertificate.make(directory, name, "dns:n", kind);
    return (X509Certificate) made.store().getCertificate(name);
  }
}
