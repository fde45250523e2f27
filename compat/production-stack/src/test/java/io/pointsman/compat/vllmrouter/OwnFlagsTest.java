package io.pointsman.compat.vllmrouter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.DecideKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Flags of {@code serve} on the command line of another router. */
class OwnFlagsTest {
  private static ConfigValues stack(String further) {
    String line =
        "--service-discovery static --static-backends http://a:1 --static-models m"
            + " --routing-logic roundrobin "
            + further;
    return ProductionStackLauncher.translate(List.of(line.split(" ", -1)), Map.of());
  }

  private static ConfigValues vllmRouter(String line) {
    return VllmRouterLauncher.translate(List.of(line.split(" ", -1)), Map.of());
  }

  private static List<String> refused(String line) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> vllmRouter(line))
        .actual()
        .problems();
  }

  @Test
  void ownFlagsAreAcceptedBesideTheOthers() {
    ConfigValues values = stack("--metrics-host 0.0.0.0 --decide-enabled=false --drain-delay 5s");
    assertThat(values.get(OperationKeys.METRICS_HOST)).isEqualTo("0.0.0.0");
    assertThat(values.get(DecideKeys.ENABLED)).isFalse();
    assertThat(
            vllmRouter("--worker-urls http://a:1 --metrics-port 0").get(OperationKeys.METRICS_PORT))
        .isZero();
  }

  @Test
  void ownFlagsWinOverTheOthers() {
    assertThat(stack("--session-key s").get(AdminKeys.ENABLED)).isFalse();
    assertThat(stack("--admin-enabled --admin-refused-paths /a /b").get(AdminKeys.ENABLED))
        .isTrue();
    assertThat(stack("--admin-refused-paths /a /b").get(AdminKeys.REFUSED_PATHS))
        .containsExactly("/a", "/b");
  }

  @Test
  void aSharedNameBelongsToTheOtherRouter() {
    assertThat(vllmRouter("--policy random --port 7").get(FrontKeys.PORT)).isEqualTo(7);
    assertThat(vllmRouter("--policy random").get(RoutingKeys.POLICY)).isEqualTo("random");
  }

  @Test
  void aProblemNamesTheOwnFlag() {
    assertThat(refused("--metrics-port x --decide-enabled=perhaps"))
        .hasSize(2)
        .anyMatch(problem -> problem.startsWith("--metrics-port: x"))
        .anyMatch(problem -> problem.startsWith("--decide-enabled: perhaps"));
    assertThat(refused("--metrics-hos x"))
        .containsExactly("--metrics-hos: unknown flag (did you mean --metrics-host?)");
  }

  @Test
  void aListWithoutAValueIsRefusedAndEmptiesNothing() {
    for (String empty : List.of("--auth-validation-urls", "--auth-validation-urls=")) {
      assertThat(refused("--worker-urls http://a:1 " + empty))
          .singleElement(STRING)
          .startsWith("--auth-validation-urls: missing (expected: a list of URLs");
    }
    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> stack("--admin-enabled --admin-refused-paths"))
        .withMessageContaining("--admin-refused-paths: missing");
  }

  /** docs/migrate/vllm-router.md names these four; a fifth must be added there or renamed. */
  @Test
  void aPrefixOfTheOtherRoutersFlagMeansThatFlag() {
    List<Flag> flags = VllmRouterLauncher.FLAGS.flags();
    List<String> theirs = flags.stream().flatMap(flag -> flag.names().stream()).toList();
    assertThat(
            OwnFlags.beside(flags).stream()
                .map(Flag::name)
                .filter(own -> theirs.stream().filter(flag -> flag.startsWith(own)).count() == 1))
        .containsExactlyInAnyOrder(
            "--queue-timeout",
            "--pool-idle-timeout",
            "--retry-initial-backoff",
            "--retry-max-backoff");
    assertThat(
            vllmRouter("--worker-urls http://a:1 --queue-timeout 5").get(QueueKeys.QUEUE_TIMEOUT))
        .hasSeconds(5);
  }

  @Test
  void aKeyOnTheCommandLineIsReportedAndOneInAFileIsNot(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("key"), "sk-1\n");
    ConfigValues shown = vllmRouter("--worker-urls http://a:1 --api-key sk-2");
    assertThat(shown.get(ForwardKeys.API_KEY)).isEqualTo("sk-2");
    assertThat(shown.exposedFlags()).containsExactly("--api-key");
    ConfigValues kept = vllmRouter("--worker-urls http://a:1 --api-key-file " + file);
    assertThat(kept.get(ForwardKeys.API_KEY)).isEqualTo("sk-1");
    assertThat(kept.exposedFlags()).isEmpty();
    assertThat(stack("--api-key-file " + file).get(ForwardKeys.API_KEY)).isEqualTo("sk-1");
    assertThat(stack("--api-key sk-3").exposedFlags()).containsExactly("--api-key");
    assertThat(refused("--worker-urls http://a:1 --api-key-file /none/such").getFirst())
        .startsWith("--api-key-file: /none/such cannot be read");
  }
}
