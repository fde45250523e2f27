package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.completion;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The commands that run HAProxy, as processes: they serve, and HAProxy never outlives them. */
@Timeout(300)
@Tag("full")
final class PlaneCommandTest {
  private static final Pattern HAPROXY_LISTENS =
      Pattern.compile("HAProxy listens on (http://\\S+), decisions by \\S+ over (?:SPOE|HTTP)");
  private static final Pattern DEMO_LISTENS = Pattern.compile("(http://127\\.0\\.0\\.1:\\d+)\\s");
  private static final Pattern CONFIGURATION = Pattern.compile("-f (\\S+haproxy\\.cfg)");

  /** The way in which a command ends. */
  enum End {
    TERM {
      @Override
      void bring(CommandProcess command) {
        command.terminate();
      }
    },
    KILL {
      @Override
      void bring(CommandProcess command) {
        command.kill();
      }
    },
    CLOSED_PIPE {
      @Override
      void bring(CommandProcess command) throws IOException {
        command.closeOutput();
      }
    };

    abstract void bring(CommandProcess command) throws IOException;
  }

  private final PlaneRig rig = new PlaneRig(PlaneRig.Way.HAPROXY_SPOE);

  @AfterEach
  void close() {
    rig.close();
  }

  /** Ends the command and checks that nothing of HAProxy is left. */
  private static void assertEnds(CommandProcess command, int port, End end) throws Exception {
    List<ProcessHandle> started = command.descendants();
    String lines = String.join("\n", started.stream().map(CommandProcess::line).toList());
    Matcher configuration = CONFIGURATION.matcher(lines);
    assertThat(configuration.find()).as(lines).isTrue();
    assertThat(free(port)).as("port %d while it runs", port).isFalse();
    end.bring(command);
    int code = command.awaitExit();

    WaitFor.until(
        () -> "HAProxy is gone: " + started.stream().map(CommandProcess::line).toList(),
        WaitFor.LONG,
        () -> started.stream().allMatch(each -> CommandProcess.line(each).isEmpty()));
    WaitFor.until("port " + port + " is free", WaitFor.LONG, () -> free(port));
    Path files = requireNonNull(Path.of(configuration.group(1)).getParent());
    if (end == End.KILL) {
      remove(files);
    } else {
      assertThat(code).as(command.output()).isZero();
      assertThat(Files.exists(files)).isFalse();
    }
  }

  /** Deletes the files that a killed command leaves behind. */
  private static void remove(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  private static boolean free(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort() == port;
    } catch (IOException e) {
      return false;
    }
  }

  private static boolean pinned(int port, String body) {
    try {
      HttpAnswer answer = PlaneRig.send(port, body);
      return answer.status() == 200 && answer.header("x-pointsman-worker") != null;
    } catch (IOException e) {
      return false;
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = End.class,
      names = {"TERM", "KILL"})
  void haproxyServesAndEndsWithItsCommand(End end) throws Exception {
    rig.engines(2).router("round_robin");
    int port = FreePorts.next();
    String listen = "127.0.0.1:" + port;
    String router = "http://127.0.0.1:" + rig.adminPort();
    String patience = Long.toString(PlaneRig.PATIENCE.toMillis());
    try (CommandProcess command =
        CommandProcess.start(
            "haproxy",
            "--listen",
            listen,
            "--router",
            router,
            "--timeout",
            patience,
            // The test does not wait for leases that only expire.
            "--ttl",
            "600")) {
      assertThat(command.await(HAPROXY_LISTENS)).isEqualTo("http://" + listen);
      WaitFor.until(
          () -> "pinned: " + command.output(), WaitFor.LONG, () -> pinned(port, completion("one")));
      rig.awaitNoLoad();

      assertEnds(command, port, end);
      rig.awaitNoLoad();
    }
  }

  @Test
  void haproxyReadsTheKeyForTheRouterAgainAfterAHangUp(@TempDir Path directory) throws Exception {
    rig.engines(1).router("round_robin", "decide.api-key", "second");
    Path key = Files.writeString(directory.resolve("key"), "first");
    int port = FreePorts.next();
    try (CommandProcess command =
        CommandProcess.start(
            "haproxy",
            "--listen",
            "127.0.0.1:" + port,
            "--router",
            "http://127.0.0.1:" + rig.adminPort(),
            "--spoe",
            "127.0.0.1:" + rig.spoePort(),
            "--api-key-file",
            key.toString())) {
      command.await(HAPROXY_LISTENS);
      command.await(Pattern.compile("(status 401 .expected: a valid --api-key)"));

      Files.writeString(key, "");
      command.hangUp();
      command.await(
          Pattern.compile("(SIGHUP: not reloaded, the previous keys stay: --api-key-file)"));
      Files.writeString(key, "second");
      command.hangUp();
      command.await(Pattern.compile("(SIGHUP: the key and the certificates for the router)"));

      WaitFor.until(
          () -> "pinned: " + command.output(), WaitFor.LONG, () -> pinned(port, completion("one")));
      assertEnds(command, port, End.TERM);
    }
  }

  @Test
  void theDemoGoesOnAfterAHangUp() throws Exception {
    try (CommandProcess demo =
        CommandProcess.start("demo", "--engines", "2", "--port", "0", "--quiet")) {
      demo.await(DEMO_LISTENS);
      demo.hangUp();
      demo.await(Pattern.compile("(SIGHUP: the demo has no configuration)"));
      demo.terminate();
      assertThat(demo.awaitExit()).as(demo.output()).isZero();
    }
  }

  /** Otherwise each would get half of the clients. */
  @Test
  void aSecondOneOnTheSamePortIsRefusedAndTheFirstContinues() throws Exception {
    rig.engines(1).router("round_robin");
    String port = Integer.toString(FreePorts.next());
    String router = "http://127.0.0.1:" + rig.adminPort();
    try (CommandProcess first =
        CommandProcess.start("haproxy", "--listen", "127.0.0.1:" + port, "--router", router)) {
      first.await(HAPROXY_LISTENS);
      try (CommandProcess second =
          CommandProcess.start("haproxy", "--listen", "127.0.0.1:" + port, "--router", router)) {
        assertThat(second.awaitExit()).as(second.output()).isNotZero();
        WaitFor.until(
            () -> "it says why: " + second.output(),
            WaitFor.LONG,
            () -> second.output().contains("HAProxy does not start"));
      }
      WaitFor.until(
          () -> "pinned: " + first.output(),
          WaitFor.LONG,
          () -> pinned(Integer.parseInt(port), completion("still")));
    }
  }

  @ParameterizedTest
  @EnumSource(End.class)
  void theDemoServesThroughHaproxyAndEndsWithIt(End end) throws Exception {
    try (CommandProcess command =
        CommandProcess.start(
            "demo", "--plane", "haproxy", "--port", "0", "--engines", "2", "--rate", "2")) {
      int port = URI.create(command.await(DEMO_LISTENS)).getPort();
      String chat =
          "{\"model\":\"%s\",\"max_tokens\":1,\"prompt\":\"hello\"}".formatted(modelOf(port));
      WaitFor.until(() -> "pinned: " + command.output(), WaitFor.LONG, () -> pinned(port, chat));

      assertEnds(command, port, end);
    }
  }

  /** The model that the engines behind HAProxy serve, once HAProxy knows one. */
  private static String modelOf(int port) {
    Pattern id = Pattern.compile("\"id\"\\s*:\\s*\"([^\"]+)\"");
    String[] found = {""};
    WaitFor.until(
        "a list of models",
        WaitFor.LONG,
        () -> {
          try {
            Matcher model = id.matcher(PlaneRig.get(port, "/v1/models").text());
            found[0] = model.find() ? model.group(1) : "";
            return !found[0].isEmpty();
          } catch (IOException e) {
            return false;
          }
        });
    return found[0];
  }
}
