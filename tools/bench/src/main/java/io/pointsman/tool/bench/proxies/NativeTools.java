package io.pointsman.tool.bench.proxies;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * The native backend and load generator, compiled on first use.
 *
 * @param directory directory of the binaries
 */
public record NativeTools(Path directory) {

  /**
   * Compiles the tools if necessary.
   *
   * @param home root of the repository
   * @throws IOException if there is no C compiler; the message says how to install one
   */
  public static NativeTools build(Path home) throws IOException, InterruptedException {
    Path into = home.resolve("tools/bench/target/native");
    List<String> line =
        List.of(home.resolve("tools/bench/native/build").toString(), into.toString());
    Process process = new ProcessBuilder(line).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException(said.strip());
    }
    return new NativeTools(into);
  }

  String backend() {
    return directory.resolve("backend").toString();
  }

  String load() {
    return directory.resolve("load").toString();
  }
}
