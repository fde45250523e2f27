package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.key.FormerKeys.Former;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.Key;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class CommandsTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    CommandLine root = Commands.root();
    root.setOut(new PrintWriter(out));
    root.setErr(new PrintWriter(err));
    return root.execute(args);
  }

  private static String[] with(String command, String... flags) {
    return Stream.concat(Stream.of(command), Stream.of(flags)).toArray(String[]::new);
  }

  @Test
  void anUnknownCommandIsRefusedWithTheNearestName() {
    assertThat(run("sreve")).isEqualTo(2);
    assertThat(err.toString())
        .startsWith("pointsman: sreve: unknown command (did you mean serve?)");
  }

  @Test
  void anUnknownFlagIsRefusedWithTheNearestName() {
    assertThat(run("serve", "--polcy", "random")).isEqualTo(2);
    assertThat(err.toString())
        .startsWith("pointsman serve: --polcy: unknown flag (did you mean --policy?)")
        .contains("Try 'pointsman serve --help'.");
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve", "check-config"})
  void aMisspeltFlagBehindAListIsNoValueOfIt(String command) {
    assertThat(run(command, "--workers", "http://a:1", "--retyr-max-attempts", "3")).isEqualTo(2);
    assertThat(err.toString())
        .startsWith(
            "pointsman %s: --retyr-max-attempts: unknown flag (did you mean --retry-max-attempts?)"
                .formatted(command));
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve", "check-config", "ray-serve", "haproxy", "key", "key create"})
  void eachCommandPrintsTheVersion(String command) {
    assertThat(run((command + " --version").split(" "))).isZero();
    assertThat(out.toString()).startsWith("pointsman ");
  }

  @Test
  void rayServeNeedsItsFile() {
    assertThat(run("ray-serve")).isEqualTo(2);
    assertThat(err.toString()).contains("<file>");
  }

  @Test
  void aKeyFileInAMissingDirectoryIsRefusedInPlainWords() {
    assertThat(
            run("key", "create", "--name", "a", "--role", "client", "--file", "/none/such/k.yaml"))
        .isEqualTo(2);
    assertThat(err.toString())
        .contains("--file: /none/such/k.yaml: no such file or directory")
        .doesNotContain("Exception");
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve", "check-config", "vllm-router", "production-stack", "ray-serve"})
  void aFormerFlagIsRefusedWithThePresentName(String command) {
    for (Former former : FormerKeys.all()) {
      assertRefused(former, command, former.flag(), "1");
      assertRefused(former, command, former.flag() + "=1");
    }
  }

  /** The parser takes an unknown flag for one more value of the list before it. */
  @ParameterizedTest
  @CsvSource({
    "serve, --workers",
    "check-config, --workers",
    "ray-serve, --workers",
    "vllm-router, --worker-urls",
    "production-stack, --static-backends"
  })
  void aFormerFlagBehindAListIsRefusedToo(String command, String list) {
    for (Former former : FormerKeys.all()) {
      assertRefused(former, command, list, "http://a:1", former.flag(), "1");
      assertRefused(former, command, list, "http://a:1", former.flag() + "=1");
    }
  }

  private void assertRefused(Former former, String command, String... flags) {
    String[] file = command.equals("ray-serve") ? new String[] {"serve.yaml"} : new String[0];
    err.getBuffer().setLength(0);
    String[] all = Stream.of(file, flags).flatMap(Stream::of).toArray(String[]::new);
    assertThat(run(with(command, all))).isEqualTo(2);
    assertThat(err.toString())
        .contains(
            "pointsman %s: %s: former name (expected: %s)"
                .formatted(command, former.flag(), former.key().flag()));
  }

  @Test
  void flagsOfTheSiblingRouterNameItsCommand() {
    String[] stack = {
      "--service-discovery", "static", "--static-backends", "http://a:1", "--routing-logic=session"
    };
    assertThat(run(with("vllm-router", stack))).isEqualTo(2);
    assertThat(err.toString())
        .endsWith(
            "pointsman vllm-router: --static-backends, --routing-logic: flags of the production"
                + " stack's router (expected: pointsman production-stack)"
                + System.lineSeparator());
    err.getBuffer().setLength(0);
    assertThat(
            run(with("production-stack", "--worker-urls", "http://a:1", "--kv-connector", "nixl")))
        .isEqualTo(2);
    assertThat(err.toString())
        .endsWith(
            "pointsman production-stack: --worker-urls, --kv-connector: flags of vllm-router 0.1.17"
                + " (expected: pointsman vllm-router)"
                + System.lineSeparator());
  }

  @Test
  void unknownFlagsGiveNoHintToAnotherCommand() {
    assertThat(run("vllm-router", "--polcy", "random", "--routing", "x")).isEqualTo(2);
    assertThat(err.toString()).contains("--polcy: unknown flag").doesNotContain("production");
  }

  @Test
  void aMissingCommandIsRefusedWithTheCommandNames() {
    assertThat(run()).isEqualTo(2);
    assertThat(err.toString()).contains("serve").contains("check-config");
  }

  @Test
  void everyWrongFlagIsReportedWithItsExpectedValue() {
    assertThat(run("serve", "--port", "99999", "--drain-timeout", "soon")).isEqualTo(2);
    assertThat(err.toString())
        .contains("pointsman serve: --port: 99999 (expected: a whole number, 0 to 65535)")
        .contains("pointsman serve: --drain-timeout: soon (expected: a duration");
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1:9", ""})
  void aCertificateOfHaproxyThatCannotBeUsedIsNamedByItsFlag(String spoe) {
    String[] flags = {
      "--listen",
      "127.0.0.1:0",
      "--router",
      "https://127.0.0.1:1",
      "--router-ca-file",
      "missing.pem"
    };
    String[] more = spoe.isEmpty() ? new String[0] : new String[] {"--spoe", spoe};
    String[] all = Stream.of(flags, more).flatMap(Stream::of).toArray(String[]::new);
    assertThat(run(with("haproxy", all))).isEqualTo(2);
    assertThat(err.toString())
        .startsWith("pointsman haproxy: --router-ca-file: missing.pem: ")
        .doesNotContain("\tat ");
  }

  @Test
  void aFlagWithoutItsValueIsRefused() {
    assertThat(run("serve", "--port")).isEqualTo(2);
    assertThat(err.toString()).contains("--port");
  }

  @Test
  void everyCommandExplainsItself() {
    for (String command : Commands.root().getSubcommands().keySet()) {
      out.getBuffer().setLength(0);
      assertThat(run(command, "--help")).as(command).isZero();
      assertThat(out.toString()).as(command).contains(command);
    }
  }

  @Test
  void theHelpOfServeNamesEveryKey() {
    run("serve", "--help");
    for (Key<?> key : ConfigKeys.all()) {
      assertThat(out.toString()).contains(key.flag());
    }
  }

  @Test
  void theVersionNamesProgramAndRuntime() {
    assertThat(run("version")).isZero();
    assertThat(out.toString()).matches("pointsman \\d+\\.\\d+.* \\(Java 2\\d.*\\)\\s+");
  }

  @Test
  void checkConfigPrintsTheEffectiveConfiguration(@TempDir Path folder) throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("router.yaml"),
            "listen: {port: 81}\npolicy: random\nsse-keepalive: on\n");
    assertThat(run("check-config", file.toString(), "--port", "82", "--all")).isZero();
    assertThat(YamlConfig.parse("printed", out.toString()).get(FrontKeys.PORT)).isEqualTo(82);
    assertThat(out.toString())
        .contains("policy: random")
        .contains("sse-keepalive: 15s")
        .contains("max-workers:");
  }

  @Test
  void checkConfigSaysOkAndPrintsTheDifferences(@TempDir Path folder) throws Exception {
    Path file =
        Files.writeString(
            folder.resolve("router.yaml"),
            "listen: {port: 81}\npolicy: random\nevent-loop-threads: 3\n");
    String workers = "http://a:1,http://a:1/v1";
    assertThat(run("check-config", file.toString(), "--workers", workers)).isZero();
    assertThat(out.toString())
        .startsWith("# ok: 4 keys differ from their defaults")
        .contains("# note: workers a:1 and a:1/v1 have the same engine")
        .contains("  port: 81  # default: 30000\n")
        .contains("policy: random  # default: cost\n")
        .contains("# a reload changes all of these but: event-loop-threads\n")
        .doesNotContain("sse-keepalive");
    assertThat(YamlConfig.parse("printed", out.toString()).get(FrontKeys.PORT)).isEqualTo(81);
    out.getBuffer().setLength(0);
    assertThat(run("check-config")).isZero();
    assertThat(out.toString())
        .startsWith("# ok: every key has its default")
        .contains("# note: no workers");
  }

  @Test
  void checkConfigReportsProblems(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("router.yaml"), "polcy: random\n");
    assertThat(run("check-config", file.toString())).isEqualTo(2);
    assertThat(err.toString()).contains(file + ":1: polcy: unknown key (did you mean policy?)");
    assertThat(run("check-config", "--config", folder.resolve("none").toString())).isEqualTo(2);
    assertThat(err.toString()).contains("no such file");
  }

  @Test
  void checkConfigReadsTheFilesOfTlsOfEveryListenerAndOfEngines(@TempDir Path folder)
      throws Exception {
    Path none = folder.resolve("none.pem");
    Path text = Files.writeString(folder.resolve("text.pem"), "no certificate");
    String config =
        """
        tls: {certificate-file: NONE}
        admin-tls: {certificate-file: TEXT}
        metrics-tls: {certificate-file: NONE}
        engine-tls: {ca-file: NONE}
        """;
    Path file =
        Files.writeString(
            folder.resolve("router.yaml"),
            config.replace("NONE", none.toString()).replace("TEXT", text.toString()));
    assertThat(run("check-config", file.toString())).isEqualTo(2);
    String missing = none + ": no such file or directory (expected: a readable PEM file)";
    assertThat(err.toString().lines())
        .containsExactly(
            "pointsman check-config: tls.certificate-file: " + missing,
            "pointsman check-config: admin-tls.certificate-file: "
                + text
                + " (expected: a PEM file with certificates)",
            "pointsman check-config: metrics-tls.certificate-file: " + missing,
            "pointsman check-config: engine-tls.ca-file: "
                + none
                + " (expected: a PEM file with certificates)");
  }

  @Test
  void checkConfigRefusesTwoListenersAtOnePort() {
    assertThat(run("check-config", "--port", "82", "--admin-port", "82")).isEqualTo(2);
    assertThat(err.toString()).contains("admin.port: 82 is listen.port too");
  }

  @Test
  void listsAreRepeatedOrSeparatedByCommas() {
    assertThat(run("check-config", "--workers", "http://a:1,http://b:2", "--workers", "http://c:3"))
        .isZero();
    assertThat(out.toString()).contains("\"a:1\"").contains("\"b:2\"").contains("\"c:3\"");
  }

  @Test
  void aSwitchNeedsNoValue() {
    assertThat(run("check-config", "--sse-keepalive", "--cors-enabled", "--worker-header=false"))
        .isZero();
    assertThat(out.toString())
        .contains("sse-keepalive: 15s")
        .contains("cors:\n  enabled: true")
        .contains("worker: false");
  }

  @Test
  void aTimeOfZeroNeedsNoUnit() {
    assertThat(run("check-config", "--defer-beyond", "0", "--timeouts-idle=0", "--all")).isZero();
    assertThat(out.toString()).contains("defer-beyond: 0\n").contains("idle: \"off\"\n");
  }

  @Test
  void aKeyIsNeverPrinted() {
    assertThat(run("check-config", "--api-key", "sk-secret")).isZero();
    assertThat(out.toString()).doesNotContain("sk-secret");
  }

  @Test
  void aKeyInAFileIsAccepted(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("key"), "sk-1\n");
    assertThat(run("check-config", "--api-key-file", file.toString(), "--workers", "http://a:1"))
        .as(err.toString())
        .isZero();
    assertThat(out.toString()).contains("api-key: \"***\"").doesNotContain("sk-1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve", "check-config"})
  void aKeyInAFileThatCannotBeUsedIsRefused(String command) {
    assertThat(run(command, "--api-key-file", "/none/such")).isEqualTo(2);
    assertThat(err.toString())
        .contains("--api-key-file: /none/such cannot be read: no such file or directory");
    assertThat(run(command, "--api-key-file", "/none", "--api-key", "k")).isEqualTo(2);
    assertThat(err.toString())
        .contains("--api-key-file: given beside --api-key (expected: one of them)");
  }
}
