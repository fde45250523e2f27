package io.pointsman.tool.bench.contender;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlaneContendersTest {
  @TempDir private Path directory;

  /** A router that stays, and a proxy that ends as soon as the router runs. */
  private Path program() throws Exception {
    return Files.writeString(
        directory.resolve("program"),
        """
        if [ "$1" = serve ]; then
          echo $$ >"$0.new"
          mv "$0.new" "$0.pid"
          exec sleep 600
        fi
        until [ -e "$0.pid" ]; do sleep 0.01; done
        exit 3
        """);
  }

  @Test
  void noRouterStaysBehindAProxyThatEnds() throws Exception {
    Path program = program();
    Contender plane =
        new PlaneContenders(directory, List.of("/bin/sh", program.toString())).all().getFirst();
    Contender.LaunchCommand launch =
        plane.launcher().launch(StartParameters.of(List.of("http://127.0.0.1:1"), 1, 1, directory));
    Path output = directory.resolve("output");

    try (ChildProcess process = ChildProcess.start(launch.command(), Map.of(), "", output)) {
      assertThat(process.process().waitFor(60, TimeUnit.SECONDS)).isTrue();

      assertThat(process.process().exitValue()).as(Files.readString(output)).isEqualTo(3);
      long router = Long.parseLong(Files.readString(directory.resolve("program.pid")).strip());
      assertThat(ProcessHandle.of(router).map(ProcessHandle::isAlive).orElse(false)).isFalse();
    }
  }
}
