package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.testkit.TestCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OwnCertificateTest {
  @TempDir Path directory;

  private X509Certificate make(String name) throws Exception {
    TestCertificate.make(directory, name, "dns:elsewhere");
    return ServerTls.certificate(directory.resolve(name + ".crt").toString());
  }

  @Test
  void onlyTheCertificateOfTheFileIsTrusted() throws Exception {
    X509Certificate[] first = {make("first")};
    X509Certificate[] second = {make("second")};
    Path live = directory.resolve("live.crt");
    Files.copy(directory.resolve("first.crt"), live);
    OwnCertificate own = new OwnCertificate(live.toString());

    assertThatCode(() -> own.checkServerTrusted(first, "RSA")).doesNotThrowAnyException();
    assertThatThrownBy(() -> own.checkServerTrusted(second, "RSA"))
        .isInstanceOf(CertificateException.class);
    assertThatThrownBy(() -> own.checkServerTrusted(new X509Certificate[0], "RSA"))
        .isInstanceOf(CertificateException.class);
    assertThatThrownBy(() -> own.checkClientTrusted(first, "RSA"))
        .isInstanceOf(CertificateException.class);
  }

  @Test
  void aChangedFileCounts() throws Exception {
    X509Certificate[] first = {make("first")};
    X509Certificate[] second = {make("second")};
    Path live = directory.resolve("live.crt");
    Files.copy(directory.resolve("first.crt"), live);
    OwnCertificate own = new OwnCertificate(live.toString());

    Files.copy(directory.resolve("second.crt"), live, StandardCopyOption.REPLACE_EXISTING);
    assertThatCode(() -> own.checkServerTrusted(second, "RSA")).doesNotThrowAnyException();
    Files.writeString(live, "broken");
    assertThatCode(() -> own.checkServerTrusted(second, "RSA")).doesNotThrowAnyException();
    assertThatThrownBy(() -> own.checkServerTrusted(first, "RSA"))
        .isInstanceOf(CertificateException.class)
        .hasMessageContaining("live.crt");
  }
}
