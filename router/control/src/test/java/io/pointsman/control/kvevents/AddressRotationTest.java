package io.pointsman.control.kvevents;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.ZmqAddress;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AddressRotationTest {
  private final List<String> known = new ArrayList<>(List.of("127.0.0.1", "::1", "127.0.0.3"));
  private final AddressRotation addresses =
      new AddressRotation(ZmqAddress.of("tcp://engine:5557"), this::lookUp);

  private InetAddress[] lookUp(String host) throws IOException {
    assertThat(host).isEqualTo("engine");
    InetAddress[] found = new InetAddress[known.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = InetAddress.getByName(known.get(i));
    }
    return found;
  }

  private void assertPresent(String address) throws IOException {
    assertThat(addresses.present().getAddress()).isEqualTo(InetAddress.getByName(address));
    assertThat(addresses.present().getPort()).isEqualTo(5557);
  }

  @Test
  void reachableAddressIsKept() throws IOException {
    assertPresent("127.0.0.1");
    assertPresent("127.0.0.1");
  }

  @Test
  void everyAddressIsTried() throws IOException {
    for (String address : List.of("127.0.0.1", "::1", "127.0.0.3", "127.0.0.1")) {
      assertPresent(address);
      addresses.unreachable();
    }
  }

  @Test
  void fewerAddressesThanBeforeAreNoError() throws IOException {
    addresses.unreachable();
    addresses.unreachable();
    known.subList(1, 3).clear();

    assertPresent("127.0.0.1");
  }
}
