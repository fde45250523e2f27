package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.CallerCheck;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callers that cannot be checked. The failure is not blamed on them. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class UnconfirmedCallerTest {
  private record Asks(Supplier<Verdict> answer) implements CallerCheck {
    @Override
    public Verdict known(@Nullable String authorization) {
      return Verdict.UNKNOWN;
    }

    @Override
    public Verdict ask(String authorization) {
      return answer.get();
    }
  }

  private static WireResponse asked(Supplier<CallerCheck.Verdict> answer) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO)) {
      rig.callers = new Asks(answer);
      return rig.connect()
          .send("GET /x HTTP/1.1\r\nhost: r\r\nauthorization: Bearer k\r\n\r\n")
          .read();
    }
  }

  @Test
  void aCallerThatCannotBeCheckedMayRetry() throws Exception {
    WireResponse response = asked(() -> CallerCheck.Verdict.UNKNOWN);
    assertThat(response.status()).isEqualTo(503);
    assertThat(response.text()).contains("\"code\":\"key_unconfirmed\"");
  }

  @Test
  void aCheckThatFailsDoesNotRefuseTheCaller() throws Exception {
    WireResponse response =
        asked(
            () -> {
              throw new IllegalStateException("planted");
            });
    assertThat(response.status()).isEqualTo(503);
  }
}
