package io.pointsman.tool.bench.proxies;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.Contenders;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Description of the machine and the contenders in reports. */
final class MachineTest {
  @TempDir Path home;

  private String description() throws IOException {
    List<Contender> contenders =
        new Contenders(home)
            .all().stream()
                .filter(c -> List.of("direct", "pointsman", "litellm", "smg").contains(c.name()))
                .toList();
    return String.join("\n", Machine.description(home, contenders));
  }

  private String git(String... arguments) throws Exception {
    List<String> line = new ArrayList<>(List.of("git", "-C", home.toString()));
    line.addAll(List.of("-c", "user.name=test", "-c", "user.email=test@localhost"));
    line.addAll(List.of(arguments));
    Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
    return said.strip();
  }

  private void installed(String record) throws IOException {
    Path peer = home.resolve("tools/bench/target/peers/litellm/lib/python3.11/site-packages");
    Files.createDirectories(peer.resolve(record + ".dist-info"));
  }

  @Test
  void theFirstLineHasDateAndProcessor() throws Exception {
    assertThat(description())
        .containsPattern(
            "^Measured on \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d: \\d+ cores, \\S.*, \\d+ MB;");
    String known = Files.readString(Path.of("/proc/cpuinfo"));
    if (known.contains("cpu family")) {
      assertThat(description()).containsPattern(", \\S.* \\(family \\d+, model \\d+\\), \\d+ MB");
    }
  }

  @Test
  @Tag("full")
  void theCommitIsNamedWithAMarkForChanges() throws Exception {
    assertThat(description()).contains("pointsman of an unknown commit, Java ");

    git("init", "-q");
    Files.writeString(home.resolve("file"), "one");
    git("add", "file");
    git("commit", "-q", "-m", "one");
    String commit = git("rev-parse", "--short", "HEAD");
    assertThat(description()).contains("pointsman " + commit + ", Java ");

    Files.writeString(home.resolve("file"), "two");
    assertThat(description()).contains("pointsman " + commit + "-dirty, Java ");
  }

  @Test
  void otherContendersShowTheirVersionOrThatItIsUnknown() throws Exception {
    installed("litellm_proxy_extras-0.4.2");
    installed("litellm-1.2.3");

    assertThat(description()).contains("\nsmg (version unknown), litellm 1.2.3");
    assertThat(description()).doesNotContain("direct", "pointsman (version unknown)");
  }
}
