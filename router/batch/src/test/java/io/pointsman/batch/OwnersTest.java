package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.proxy.identity.ClientIdentity;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files and batches of one client, as another one sees them. */
@Timeout(120)
class OwnersTest {
  private record Client(ClientIdentity identity, Map<String, String> headers) {}

  private static final List<Client> CLIENTS =
      List.of(
          new Client(named(ClientIdentity.Kind.KEY, "alice"), Map.of()),
          new Client(named(ClientIdentity.Kind.KEY, "bob"), Map.of()),
          new Client(named(ClientIdentity.Kind.CONFIRMED, "confirmed:alice"), Map.of()),
          new Client(named(ClientIdentity.Kind.CERTIFICATE, "alice"), Map.of()),
          new Client(named(ClientIdentity.Kind.CERTIFICATE, "alice"), key("three")),
          new Client(named(ClientIdentity.Kind.CERTIFICATE, "alice"), key("four")),
          new Client(named(ClientIdentity.Kind.ADDRESS, "10.0.0.1"), key("one")),
          new Client(named(ClientIdentity.Kind.ADDRESS, "10.0.0.1"), key("two")),
          new Client(named(ClientIdentity.Kind.ADDRESS, "10.0.0.1"), Map.of()));

  @TempDir Path directory;

  private static ClientIdentity named(ClientIdentity.Kind kind, String name) {
    return new ClientIdentity(kind, name, Set.of());
  }

  private static Map<String, String> key(String key) {
    return Map.of("authorization", "Bearer " + key);
  }

  private static void as(BatchRig rig, Client client) {
    rig.client = client.identity();
    rig.headers = client.headers();
  }

  private static List<String> ids(BatchRig.Reply list) {
    List<String> ids = new ArrayList<>();
    list.json().path("data").forEach(each -> ids.add(each.path("id").asText()));
    return ids;
  }

  @Test
  void nobodyElseCanUseThem() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      for (int owner = 0; owner < CLIENTS.size(); owner++) {
        as(rig, CLIENTS.get(owner));
        String file = rig.file(BatchRig.line("a"));
        String batch = rig.batch(file, "");
        JsonNode ended = rig.await(batch, "completed");
        String output = ended.path("output_file_id").asText();
        assertThat(ids(rig.get("/v1/files"))).containsExactly(output, file);
        assertThat(ids(rig.get("/v1/batches"))).containsExactly(batch);

        for (int other = 0; other < CLIENTS.size(); other++) {
          as(rig, CLIENTS.get(other));
          if (other != owner) {
            refused(rig, file, batch);
            refused(rig, output, batch);
          }
        }

        as(rig, CLIENTS.get(owner));
        assertThat(rig.content(ended.path("output_file_id"))).contains("echo");
        assertThat(rig.delete("/v1/files/" + file).status()).isEqualTo(200);
      }
    }
  }

  private static void refused(BatchRig rig, String file, String batch) throws Exception {
    String input = "{\"input_file_id\":\"" + file + "\",\"endpoint\":\"/v1/chat/completions\"}";
    List<BatchRig.Reply> replies =
        List.of(
            rig.get("/v1/files/" + file),
            rig.get("/v1/files/" + file + "/content"),
            rig.delete("/v1/files/" + file),
            rig.post("/v1/batches", input),
            rig.get("/v1/batches/" + batch),
            rig.post("/v1/batches/" + batch + "/cancel", ""),
            rig.delete("/v1/batches/" + batch));
    assertThat(replies).allSatisfy(reply -> assertThat(reply.status()).isEqualTo(404));
    // The answer is that for an id that does not exist.
    String unknown = rig.get("/v1/files/file-none").text();
    assertThat(rig.get("/v1/files/" + file).text()).isEqualTo(unknown.replace("file-none", file));
    assertThat(ids(rig.get("/v1/files?after=" + file))).isEmpty();
    assertThat(ids(rig.get("/v1/batches?after=" + batch))).isEmpty();
  }

  /** An address is no proof, and an unconfirmed key is none either. */
  @Test
  void clientsThatNobodyChecksShareTheirFiles() throws Exception {
    Owners owners = new Owners(false, 1);
    for (Client each : CLIENTS) {
      String owner = BatchRig.ownerOf(owners, each.identity(), each.headers());
      boolean proven = each.identity().kind() != ClientIdentity.Kind.ADDRESS;
      assertThat(owner.isEmpty()).isEqualTo(!proven);
    }
  }

  @Test
  void theOwnerByAKeyDoesNotContainIt() {
    String owner =
        BatchRig.ownerOf(
            new Owners(true, 1), ClientIdentity.UNKNOWN, Map.of("x-api-key", "secret"));
    assertThat(owner).startsWith("confirmed/").hasSize(42).doesNotContain("secret");
    for (String each : List.of("Bearer secret", "bearer  secret", "BEARER secret ")) {
      Map<String, String> headers = Map.of("authorization", each);
      assertThat(BatchRig.ownerOf(new Owners(true, 1), ClientIdentity.UNKNOWN, headers))
          .isEqualTo(owner);
    }
  }
}
