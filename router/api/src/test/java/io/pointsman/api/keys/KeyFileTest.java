package io.pointsman.api.keys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigException;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.identity.Priority;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The file with keys: written keys read back, and mistakes are named. */
class KeyFileTest {
  @TempDir private Path directory = Path.of(".");

  private static StoredKey key(String name, String text) {
    return new StoredKey(name, KeyRole.CLIENT, StoredKey.hash(text), List.of(), null);
  }

  @Test
  void addedKeysReadBackAndTheKeyIsNowhere() throws Exception {
    Path file = directory.resolve("keys.yaml");
    StoredKey one =
        new StoredKey(
            "alice",
            KeyRole.CLIENT,
            StoredKey.hash("pmk-secret"),
            List.of("a", "it's: b"),
            Instant.parse("2027-01-31T00:00:00Z"));
    StoredKey two = new StoredKey("1", KeyRole.ADMIN, StoredKey.hash("other"), List.of(), null);
    KeyFile.add(file, one);
    KeyFile.add(file, two);
    assertThat(KeyFile.read(file)).containsExactly(one, two);
    assertThat(Files.readString(file)).doesNotContain("pmk-secret").contains("sha256:");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    try (var files = Files.list(directory)) {
      assertThat(files).containsExactly(file);
    }
  }

  @Test
  void limitsAndThePriorityReadBack() throws Exception {
    Path file = directory.resolve("keys.yaml");
    ClientQuota own = new ClientQuota(4, 60, -1, -1, -1, 0);
    StoredKey key =
        new StoredKey(
            "a",
            KeyRole.CLIENT,
            StoredKey.hash("1"),
            List.of(),
            new ClientQuotas(own, Map.of()),
            Priority.HIGH,
            null);
    KeyFile.add(file, key);
    assertThat(KeyFile.read(file)).containsExactly(key);

    Files.writeString(
        file, Files.readString(file) + "    model-limits: {m: {requests-per-minute: 5}}\n");
    ClientQuotas read = KeyFile.read(file).getFirst().quotas();
    assertThat(read.ofEach()).isEqualTo(own);
    assertThat(read.byModel()).containsEntry("m", new ClientQuota(-1, 5, -1, -1, -1, -1));
  }

  @Test
  void commentsStay() throws Exception {
    Path file = directory.resolve("keys.yaml");
    KeyFile.add(file, key("a", "1"));
    Files.writeString(file, Files.readString(file) + "  # of the team\n");
    KeyFile.add(file, key("b", "2"));
    assertThat(Files.readString(file)).contains("# of the team");
    assertThat(KeyFile.read(file)).extracting(StoredKey::name).containsExactly("a", "b");
  }

  @Test
  void aNameIsUsedOnce() throws Exception {
    Path file = directory.resolve("keys.yaml");
    KeyFile.add(file, key("a", "1"));
    assertThatThrownBy(() -> KeyFile.add(file, key("a", "2")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("there is a key of this name");
  }

  @Test
  void aFileInAnotherStyleIsNotDamaged() throws Exception {
    Path file = directory.resolve("keys.yaml");
    String flow = "keys: [{name: a, role: client, hash: 'sha256:" + StoredKey.hash("1") + "'}]\n";
    Files.writeString(file, flow);
    assertThatThrownBy(() -> KeyFile.add(file, key("b", "2"))).isInstanceOf(ConfigException.class);
    assertThat(Files.readString(file)).isEqualTo(flow);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "- a",
        "other: 1",
        "keys: 1",
        "keys: [1]",
        "keys: [{name: a, role: client}]",
        "keys: [{name: a, role: client, hash: HASH, model: x}]",
        "keys: [{name: a, role: owner, hash: HASH}]",
        "keys: [{name: 'a b', role: client, hash: HASH}]",
        "keys: [{name: a, role: client, hash: plain}]",
        "keys: [{name: a, role: client, hash: 'sha256:0'}]",
        "keys: [{name: a, role: client, hash: HASH, models: []}]",
        "keys: [{name: a, role: client, hash: HASH, models: x}]",
        "keys: [{name: a, role: client, hash: HASH, expires: tomorrow}]",
        "keys: [{name: a, role: client, hash: HASH, limits: 5}]",
        "keys: [{name: a, role: client, hash: HASH, limits: {requests: 5}}]",
        "keys: [{name: a, role: client, hash: HASH, limits: {concurrency: -1}}]",
        "keys: [{name: a, role: client, hash: HASH, limits: {concurrency: many}}]",
        "keys: [{name: a, role: client, hash: HASH, limits: {concurrency: [1]}}]",
        "keys: [{name: a, role: client, hash: HASH, model-limits: {m: 1}}]",
        "keys: [{name: a, role: admin, hash: HASH, limits: {concurrency: 1}}]",
        "keys: [{name: a, role: plane, hash: HASH, models: [m]}]",
        "keys: [{name: a, role: client, hash: HASH}, {name: b, role: client, hash: HASH}]"
      })
  void mistakesAreRefusedWithTheirPlace(String text) {
    String hash = "'sha256:" + StoredKey.hash("x") + "'";
    assertThatThrownBy(() -> KeyFile.parse("keys.yaml", text.replace("HASH", hash)))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith("keys.yaml");
  }

  @Test
  void anEmptyFileHasNoKeys() {
    assertThat(KeyFile.parse("keys.yaml", "")).isEmpty();
    assertThat(KeyFile.parse("keys.yaml", "keys:\n")).isEmpty();
  }

  @Test
  void aNewKeyHas256RandomBits() {
    String key = StoredKey.create(bytes -> Arrays.fill(bytes, (byte) 1));
    assertThat(key).hasSize(4 + 43).startsWith("pmk-");
  }

  @Test
  void otherReadersOfTheFileAreAProblem() throws Exception {
    Path file = directory.resolve("keys.yaml");
    KeyFile.add(file, key("a", "1"));
    assertThat(KeyFile.problemOfPermissions(file)).isEmpty();
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    assertThat(KeyFile.problemOfPermissions(file)).isEmpty();
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
    assertThat(KeyFile.problemOfPermissions(file)).contains("other users can read");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw----"));
    assertThat(KeyFile.problemOfPermissions(file)).contains("other users can change");
  }

  @Test
  void permissionsStayWhenAKeyIsAdded() throws Exception {
    Path file = directory.resolve("keys.yaml");
    KeyFile.add(file, key("a", "1"));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
    KeyFile.add(file, key("b", "2"));
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-r-----");
  }
}
