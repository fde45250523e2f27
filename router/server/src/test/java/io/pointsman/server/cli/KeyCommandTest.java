package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.proxy.identity.KeyRole;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** {@code pointsman key create}. */
class KeyCommandTest {
  @TempDir private Path directory = Path.of(".");
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int create(String... more) {
    CommandLine root = Commands.root();
    root.setOut(new PrintWriter(out));
    root.setErr(new PrintWriter(err));
    List<String> all = new ArrayList<>(List.of("key", "create"));
    all.addAll(List.of("--file", directory.resolve("keys.yaml").toString()));
    all.addAll(List.of(more));
    return root.execute(all.toArray(new String[0]));
  }

  private List<StoredKey> stored() {
    return KeyFile.read(directory.resolve("keys.yaml"));
  }

  @Test
  void printsTheKeyOnceAndStoresItsHash() throws Exception {
    String[] bob = {"--name", "bob", "--role", "client", "--models", "a,b", "--expires", "30d"};
    assertThat(create(bob)).isZero();
    String key = out.toString().strip();
    assertThat(key).startsWith("pmk-").hasSize(47);
    assertThat(Files.readString(directory.resolve("keys.yaml"))).doesNotContain(key);
    StoredKey stored = stored().getFirst();
    assertThat(stored.hash()).isEqualTo(StoredKey.hash(key));
    assertThat(stored.role()).isEqualTo(KeyRole.CLIENT);
    assertThat(stored.models()).containsExactly("a", "b");
    assertThat(stored.expires())
        .isBetween(
            Instant.now().plus(Duration.ofDays(29)), Instant.now().plus(Duration.ofDays(31)));

    String[] eve = {"--name", "eve", "--role", "client", "--limits", "requests-per-minute=60"};
    assertThat(create(eve)).isZero();
    assertThat(stored().getLast().quotas().ofEach().requestsPerMinute()).isEqualTo(60);

    assertThat(create("--name", "ops", "--role", "admin")).isZero();
    assertThat(stored()).extracting(StoredKey::name).containsExactly("bob", "eve", "ops");
  }

  @Test
  void mistakesCreateNothing() {
    assertThat(create("--name", "a b", "--role", "client")).isEqualTo(2);
    assertThat(create("--name", "a", "--role", "owner")).isEqualTo(2);
    assertThat(create("--name", "a", "--role", "client", "--expires", "soon")).isEqualTo(2);
    assertThat(create("--name", "a", "--role", "client", "--limits", "x=1")).isEqualTo(2);
    assertThat(create("--name", "a", "--role", "admin", "--limits", "concurrency=1")).isEqualTo(2);
    assertThat(err.toString()).contains("--limits: x: unknown limit", "--limits: with role admin");
    assertThat(err.toString()).contains("--name: a b", "--role: owner", "--expires: soon");
    assertThat(directory).isEmptyDirectory();
    assertThat(out.toString()).isEmpty();
  }
}
