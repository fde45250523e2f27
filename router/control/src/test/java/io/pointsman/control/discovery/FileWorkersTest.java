package io.pointsman.control.discovery;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.WatchedFile;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FileWorkersTest {
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, new FakeClock()::nanos);
  private final WorkerSources sources = new WorkerSources(fleet);
  private final DiscoveryTally tally = new DiscoveryTally();

  @TempDir private Path directory;
  private Path file;
  private FileWorkers workers;

  @BeforeEach
  void build() {
    file = directory.resolve("workers.yaml");
    workers = new FileWorkers(file, DisaggSettings.DEFAULTS, sources, _ -> {}, tally);
  }

  private void write(String text) throws IOException {
    Files.writeString(file, text);
  }

  /** Two looks, because a changed file must be the same twice. */
  private void settle() {
    workers.look();
    workers.look();
  }

  private List<String> ids() {
    return fleet.snapshot().workers().stream().map(Worker::id).toList();
  }

  private int failing() {
    return tally.failing(WorkerSource.FILE);
  }

  @Test
  void aClosedFileChangesNothing() throws Exception {
    write("- http://a:1");
    settle();
    write("- {no-url: 1}");
    settle();
    assertThat(failing()).isEqualTo(1);
    workers.close();
    assertThat(failing()).isZero();
    write("- http://b:1");
    settle();
    assertThat(ids()).containsExactly("a:1");
  }

  @Test
  void aListInYamlIsTheWorkers() throws Exception {
    write(
        """
        - http://a:1
        - {url: http://b:1, model: m, weight: 2, labels: {rack: r1}}
        """);
    workers.look();
    assertThat(ids()).containsExactly("a:1", "b:1");
    WorkerSpec spec = requireNonNull(fleet.snapshot().worker("b:1")).spec();
    assertThat(spec.models()).containsExactly("m");
    assertThat(spec.weight()).isEqualTo(2);
    assertThat(spec.labels()).containsEntry("rack", "r1");
    assertThat(failing()).isZero();
  }

  @Test
  @Timeout(60)
  void aPipeOrADeeplyNestedFileChangesNothing() throws Exception {
    write("[http://a:1]");
    workers.look();
    write("[".repeat(300_000));
    settle();
    assertThat(ids()).containsExactly("a:1");
    assertThat(failing()).isEqualTo(1);
    Files.delete(file);
    assertThat(new ProcessBuilder("mkfifo", file.toString()).start().waitFor()).isZero();
    settle();
    assertThat(ids()).containsExactly("a:1");
    Files.delete(file);
    write("[http://b:1]");
    settle();
    assertThat(ids()).containsExactly("b:1");
  }

  @Test
  void aListInJsonIsTheWorkersToo() throws Exception {
    write(
        """
        {"workers": [{"url": "http://a:1", "models": ["m"]}]}
        """);
    workers.look();
    assertThat(ids()).containsExactly("a:1");
  }

  @Test
  void aChangeAppliesToTheWorkersThatChange() throws Exception {
    write("[http://a:1, http://b:1]");
    workers.look();
    Worker kept = fleet.snapshot().worker("b:1");
    write("[http://b:1, http://c:1]");
    settle();
    assertThat(ids()).containsExactly("b:1", "c:1");
    assertThat(fleet.snapshot().worker("b:1")).isSameAs(kept);
  }

  @Test
  void aFileThatIsBeingWrittenIsNotUsed() throws Exception {
    write("- http://a:1\n- http://b:1\n");
    workers.look();
    write("- http://a:1\n");
    workers.look();
    write("- http://a:1\n- http://c:1\n");
    workers.look();
    assertThat(ids()).containsExactly("a:1", "b:1");
    workers.look();
    assertThat(ids()).containsExactly("a:1", "c:1");
  }

  /** Kubernetes replaces the directory behind a link. */
  @Test
  void aConfigMapThatIsReplacedByALinkIsSeen() throws Exception {
    Path one = Files.createDirectory(directory.resolve("..1"));
    Path two = Files.createDirectory(directory.resolve("..2"));
    Files.writeString(one.resolve("workers.yaml"), "[http://a:1]");
    Files.writeString(two.resolve("workers.yaml"), "[http://b:1]");
    Path data = Files.createSymbolicLink(directory.resolve("..data"), one);
    Files.createSymbolicLink(file, data.resolve("workers.yaml"));
    workers.look();
    assertThat(ids()).containsExactly("a:1");
    Path next = Files.createSymbolicLink(directory.resolve("..next"), two);
    Files.move(next, data, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    settle();
    assertThat(ids()).containsExactly("b:1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "# nothing\n",
        "- http://b:1\n- {url: http://c:1, rol: decode}\n",
        "- ftp://b:1\n",
        "[http://b:1",
        "workers: [http://b:1]\nother: 1\n",
        "just text",
        "- {url: http://b:1, role: prefill}\n",
        "- {url: http://b:1, id: x}\n- {url: http://c:1, id: x}\n",
        "- {url: http://b:1, resolve: all}\n"
      })
  void aBrokenFileChangesNothingAndIsReported(String text) throws Exception {
    write("[http://a:1]");
    workers.look();
    write(text);
    settle();
    assertThat(ids()).containsExactly("a:1");
    assertThat(failing()).isEqualTo(1);
    assertThat(tally.failures(WorkerSource.FILE)).isEqualTo(1);
    write("[http://b:1]");
    settle();
    assertThat(ids()).containsExactly("b:1");
    assertThat(failing()).isZero();
  }

  @Test
  void aMissingFileChangesNothing() throws Exception {
    workers.look();
    assertThat(failing()).isEqualTo(1);
    write("[http://a:1]");
    workers.look();
    assertThat(ids()).containsExactly("a:1");
    Files.delete(file);
    settle();
    assertThat(ids()).containsExactly("a:1");
    assertThat(failing()).isEqualTo(1);
    write("[http://a:1]");
    settle();
    assertThat(failing()).isZero();
  }

  @Test
  void anEmptyListRemovesAllWorkers() throws Exception {
    write("[http://a:1]");
    workers.look();
    write("[]");
    settle();
    assertThat(ids()).isEmpty();
  }

  @Test
  void aFileThatIsTooLargeChangesNothing() throws Exception {
    write("[http://a:1]");
    workers.look();
    Files.write(file, new byte[WatchedFile.MOST_BYTES + 1]);
    settle();
    assertThat(ids()).containsExactly("a:1");
    assertThat(failing()).isEqualTo(1);
  }

  @Test
  void workersThatDoNotFitAreAddedWhenThereIsRoom() throws Exception {
    FleetSettings usual = FleetSettings.DEFAULTS;
    Fleet small =
        new Fleet(
            new FleetSettings(1, usual.health(), usual.breaker(), usual.stall()),
            new FakeClock()::nanos);
    small.add(WorkerSpec.of("http://other:1"));
    FileWorkers follower =
        new FileWorkers(file, DisaggSettings.DEFAULTS, new WorkerSources(small), _ -> {}, tally);
    write("[http://a:1]");
    follower.look();
    assertThat(failing()).isEqualTo(1);
    small.remove("other:1");
    follower.look();
    assertThat(small.snapshot().worker("a:1")).isNotNull();
    assertThat(failing()).isZero();
  }

  @Test
  void aFileOfTlsThatCannotBeUsedIsAProblemOfTheList() throws Exception {
    FileWorkers follower =
        new FileWorkers(
            file,
            DisaggSettings.DEFAULTS,
            sources,
            _ -> {
              throw new IllegalArgumentException("tls-ca-file: no such file");
            },
            tally);
    write("[https://a:1]");
    follower.look();
    assertThat(ids()).isEmpty();
    assertThat(failing()).isEqualTo(1);
  }
}
