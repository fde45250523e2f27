package io.pointsman.tool.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class ToolsTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    CommandLine root = Tools.root();
    root.setOut(new PrintWriter(out));
    root.setErr(new PrintWriter(err));
    return root.execute(args);
  }

  @Test
  void toolsStandBesideTheRoutersCommands() {
    assertThat(Tools.root().getSubcommands()).containsKeys("demo", "engine", "replay", "serve");
  }

  @Test
  void everyCommandExplainsItself() {
    for (String command : Tools.root().getSubcommands().keySet()) {
      out.getBuffer().setLength(0);
      assertThat(run(command, "--help")).as(command).isZero();
      assertThat(out.toString()).as(command).contains(command);
    }
  }

  @Test
  void anUnknownFlagIsRefusedWithTheNearestName() {
    assertThat(run("demo", "--engine=3")).isEqualTo(2);
    assertThat(err.toString()).contains("--engine: unknown flag (did you mean --engines?)");
  }

  @Test
  void aWrongDemoIsRefused() {
    assertThat(run("demo", "--policy", "fastest")).isEqualTo(2);
    assertThat(err.toString()).contains("pointsman demo: --policy: fastest (expected: one of");
    assertThat(run("demo", "--engines", "0")).isEqualTo(2);
    assertThat(err.toString()).contains("--engines: 0 (expected: 1 to 64)");
  }
}
