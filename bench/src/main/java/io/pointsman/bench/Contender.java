package io.pointsman.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A router and how it is started in front of given workers.
 *
 * @param name what tables call it
 * @param readyPath answers 200 when it can route
 */
record Contender(String name, List<String> command, String readyPath) {

  /** This project's router as users run it, with {@code policy}. */
  static Contender pointsman(String policy) {
    Path launcher = home().resolve("pointsman");
    return new Contender(
        "pointsman " + policy,
        List.of(launcher.toString(), "serve", "--policy", policy, "--log-level", "error"),
        "/readiness");
  }

  /**
   * The vllm-router from PyPI with {@code policy}; null if {@code bench/setup} has not installed
   * it.
   */
  static @Nullable Contender vllmRouter(String policy) {
    Path binary = home().resolve("bench/target/peers/vllm-router/bin/vllm-router");
    if (!Files.isExecutable(binary)) {
      return null;
    }
    return new Contender(
        "vllm-router " + policy,
        List.of(binary.toString(), "--policy", policy, "--log-level", "error"),
        "/readiness");
  }

  /** Starts it in front of {@code workers}. */
  RouterProcess start(List<String> workers) throws IOException, InterruptedException {
    int port = RouterProcess.freePort();
    int metrics = RouterProcess.freePort();
    List<String> line = new ArrayList<>(command);
    line.addAll(List.of("--host", "127.0.0.1", "--port", "" + port));
    if (name.startsWith("pointsman")) {
      line.addAll(List.of("--metrics-port", "" + metrics, "--workers", String.join(",", workers)));
    } else {
      line.addAll(List.of("--prometheus-port", "" + metrics, "--worker-urls"));
      line.addAll(workers);
    }
    return RouterProcess.start(line, port, readyPath);
  }

  private static Path home() {
    String home = System.getenv("POINTSMAN_HOME");
    return Path.of(home == null ? "." : home).toAbsolutePath().normalize();
  }
}
