package io.pointsman.engine.env;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.BindException;
import java.nio.channels.UnresolvedAddressException;
import org.junit.jupiter.api.Test;

/** Messages for ports that cannot be bound. */
class BindProblemTest {
  private static final String EXPECTED = " (expected: a free port of an address of this machine)";

  @Test
  void theReasonOfTheSystemIsInTheMessage() {
    assertThat(BindProblem.of("admin: a:80", new BindException("Permission denied")))
        .isEqualTo("admin: a:80: Permission denied" + EXPECTED);
  }

  @Test
  void theReasonIsThatOfTheLastCause() {
    Throwable failure = new IOException("outer", new BindException("Address already in use"));
    assertThat(BindProblem.of("listen: a:80", failure))
        .isEqualTo("listen: a:80: Address already in use" + EXPECTED);
  }

  @Test
  void theCallOfANativeTransportIsLeftOut() {
    Throwable failure = new IOException("bind(..) failed with error(-98): Address already in use");
    assertThat(BindProblem.of("listen: a:80", failure))
        .isEqualTo("listen: a:80: Address already in use" + EXPECTED);
  }

  @Test
  void aNameWithoutAnAddressHasAReasonToo() {
    assertThat(BindProblem.of("listen: nowhere:80", new UnresolvedAddressException()))
        .isEqualTo("listen: nowhere:80: the address cannot be resolved" + EXPECTED);
  }
}
