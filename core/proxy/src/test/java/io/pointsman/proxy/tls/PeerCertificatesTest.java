package io.pointsman.proxy.tls;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Names of clients by the subjects of their certificates. */
class PeerCertificatesTest {
  @Test
  void aUsualSubjectIsTheName() {
    assertThat(PeerCertificates.bounded("CN=alice,O=one")).isEqualTo("CN=alice,O=one");
  }

  /** "Aa" and "BB" have one hash code. */
  @Test
  void longSubjectsThatBeginAlikeHaveTwoNames() {
    String start = "CN=" + "x".repeat(300);
    String one = PeerCertificates.bounded(start + "Aa");
    String other = PeerCertificates.bounded(start + "BB");
    assertThat(one).hasSize(256).isNotEqualTo(other);
    assertThat(PeerCertificates.bounded(start + "Aa")).isEqualTo(one);
  }
}
