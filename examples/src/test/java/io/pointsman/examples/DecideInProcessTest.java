package io.pointsman.examples;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class DecideInProcessTest {
  @Test
  void chatsFollowTheirPrefixToOneEngine() throws Exception {
    SimConfig config = SimConfig.instant().withModels("m");
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (SimEngine one = SimEngine.start(config);
        SimEngine two = SimEngine.start(config);
        PrintStream printed = new PrintStream(out, true, UTF_8)) {
      DecideInProcess.run(List.of(one.url(), two.url()), printed);

      long most = Math.max(served(one), served(two));
      assertThat(most).isEqualTo(3);
    }
    assertThat(out.toString(UTF_8).lines())
        .hasSize(3)
        .allMatch(line -> line.contains(": Succeeded["))
        .anyMatch(line -> line.contains("PREFIX_HIT"));
  }

  private static long served(SimEngine engine) {
    return engine.state().requests().served();
  }
}
