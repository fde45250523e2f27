package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.identity.ClientIdentity;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The client that an address stands for. */
class ClientAddressTest {
  private static final ForwardedSettings TRUSTING =
      new ForwardedSettings(true, List.of(Network.of("10.0.0.0/8")));

  private static ClientIdentity identity(String address, String forwarded) throws Exception {
    String line = forwarded.isEmpty() ? "" : "x-forwarded-for: " + forwarded + "\r\n";
    RequestHead head = RequestHeads.of("GET / HTTP/1.1\r\nhost: r\r\n" + line + "\r\n");
    InetSocketAddress remote = new InetSocketAddress(InetAddress.getByName(address), 1);
    return ClientAddress.of(remote, false, TRUSTING).identity(head);
  }

  @ParameterizedTest
  @CsvSource({
    "192.0.2.1, '', 192.0.2.1",
    "192.0.2.1, 198.51.100.7, 192.0.2.1",
    "10.0.0.1, '', 10.0.0.1",
    "10.0.0.1, 198.51.100.7, 198.51.100.7",
    "10.0.0.1, 198.51.100.7:4711, 198.51.100.7",
    "10.0.0.1, '203.0.113.9, 198.51.100.7', 198.51.100.7",
    "10.0.0.1, '198.51.100.7, 10.0.0.2', 198.51.100.7",
    "10.0.0.1, '203.0.113.9, unknown', 10.0.0.1",
    "10.0.0.1, '10.0.0.3, 10.0.0.2', 10.0.0.3",
    "10.0.0.1, '[2001:db8::1]:4711', 2001:db8::/64",
  })
  void onlyTrustedProxiesReportAnotherClient(String address, String forwarded, String name)
      throws Exception {
    ClientIdentity client = identity(address, forwarded);

    assertThat(client.kind()).isEqualTo(ClientIdentity.Kind.ADDRESS);
    assertThat(client.name()).isEqualTo(name);
  }

  @Test
  void addressesOfOneNetworkOfIpv6AreOneClient() throws Exception {
    assertThat(identity("2001:db8::1", "")).isEqualTo(identity("2001:db8::ffff:2", ""));
    assertThat(identity("2001:db8::1", "")).isNotEqualTo(identity("2001:db8:0:1::1", ""));
    assertThat(identity("::ffff:192.0.2.1", "").name()).isEqualTo("192.0.2.1");
  }

  @Test
  void aConnectionWithoutAnAddressIsUnknown() {
    RequestHead head = RequestHeads.of("GET / HTTP/1.1\r\nhost: r\r\n\r\n");

    assertThat(ClientAddress.of(null, false, TRUSTING).identity(head))
        .isEqualTo(ClientIdentity.UNKNOWN);
  }
}
