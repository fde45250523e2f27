package io.pointsman.batch;

import static io.pointsman.batch.BatchRig.part;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings("StringConcatToTextBlock") // line ends matter
class FilesApiTest {
  @TempDir Path directory;

  private static List<String> ids(JsonNode list) {
    return list.path("data").findValuesAsText("id");
  }

  @Test
  void aFileIsStoredShownListedReadAndDeleted() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      String id = rig.file("a\nb");
      JsonNode file = rig.get("/v1/files/" + id).json();
      assertThat(file.path("object").asText()).isEqualTo("file");
      assertThat(file.path("bytes").asInt()).isEqualTo(3);
      assertThat(file.path("created_at").asLong()).isEqualTo(1_000_000);
      assertThat(file.path("filename").asText()).isEqualTo("in.jsonl");
      assertThat(file.path("purpose").asText()).isEqualTo("batch");
      assertThat(rig.get("/v1/files/" + id + "/content").text()).isEqualTo("a\nb");
      assertThat(ids(rig.get("/v1/files").json())).containsExactly(id);
      JsonNode gone = rig.call("DELETE", "/v1/files/" + id, new byte[0], java.util.Map.of()).json();
      assertThat(gone.path("deleted").asBoolean()).isTrue();
      assertThat(rig.get("/v1/files/" + id).status()).isEqualTo(404);
      assertThat(ids(rig.get("/v1/files").json())).isEmpty();
      try (var files = Files.list(directory.resolve("files"))) {
        assertThat(files).isEmpty();
      }
    }
  }

  /** A page of another origin can send these types without permission. */
  @Test
  void aWebPageCannotStartABatch() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      String file = rig.file(BatchRig.line("a"));
      String body = "{\"input_file_id\":\"" + file + "\",\"endpoint\":\"/v1/chat/completions\"}";
      for (Map<String, String> headers :
          List.of(
              Map.<String, String>of(),
              Map.of("content-type", "text/plain"),
              Map.of("content-type", "text/plain; application/json"),
              Map.of("content-type", "application/x-www-form-urlencoded"))) {
        BatchRig.Reply refused = rig.post("/v1/batches", body, headers);
        assertThat(refused.status()).isEqualTo(400);
        assertThat(refused.text()).contains("application/json");
      }
      assertThat(rig.get("/v1/batches").json().path("data")).isEmpty();
    }
  }

  @Test
  void aBatchThatIsNotUnicodeIsRefused() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      byte[] beyond = {0, 0, (byte) 0xFE, (byte) 0xFF, 0x7F, 0, 0, 0}; // no character in UTF-32
      Map<String, String> json = Map.of("content-type", "application/json");
      assertThat(rig.call("POST", "/v1/batches", beyond, json).status()).isEqualTo(400);
    }
  }

  @Test
  void aFileSurvivesARestart() throws Exception {
    String id;
    try (BatchRig rig = new BatchRig(directory)) {
      id = rig.file("kept");
    }
    Files.writeString(directory.resolve("files/file-x.part"), "half an upload");
    try (BatchRig rig = new BatchRig(directory)) {
      assertThat(rig.get("/v1/files/" + id + "/content").text()).isEqualTo("kept");
    }
    assertThat(directory.resolve("files/file-x.part")).doesNotExist();
  }

  @Test
  void listsHavePagesAndPurposes() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      String first = rig.file("1");
      String second = rig.file("2");
      rig.upload(part("name=\"file\"; filename=\"x\"", "3") + "--b--");

      JsonNode page = rig.get("/v1/files?limit=1&purpose=batch").json();
      assertThat(ids(page)).containsExactly(second);
      assertThat(page.path("has_more").asBoolean()).isTrue();
      assertThat(page.path("last_id").asText()).isEqualTo(second);
      JsonNode rest = rig.get("/v1/files?limit=1&purpose=batch&after=" + second).json();
      assertThat(ids(rest)).containsExactly(first);
      assertThat(rest.path("has_more").asBoolean()).isFalse();
      assertThat(ids(rig.get("/v1/files?purpose=unknown").json())).hasSize(1);
      assertThat(rig.get("/v1/files?limit=x").status()).isEqualTo(400);
    }
  }

  @Test
  void aWrongUploadIsRefusedAndLeavesNothing() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      BatchRig.Reply missing = rig.upload(part("name=\"purpose\"", "batch") + "--b--");
      assertThat(missing.status()).isEqualTo(400);
      assertThat(missing.text()).contains("Missing required parameter 'file'");
      assertThat(rig.upload("--b\r\nno form").status()).isEqualTo(400);
      assertThat(rig.post("/v1/files", "{}").text()).contains("multipart/form-data");
      BatchRig.Reply expires =
          rig.upload(
              part("name=\"file\"; filename=\"x\"", "3")
                  + part("name=\"expires_after[seconds]\"", "3600")
                  + "--b--");
      assertThat(expires.text()).contains("expires_after: not supported");
      String large = part("name=\"file\"; filename=\"x\"", "x".repeat(4097)) + "--b--";
      assertThat(rig.upload(large).status()).isEqualTo(413);
      assertThat(ids(rig.get("/v1/files").json())).isEmpty();
      try (var files = Files.list(directory.resolve("files"))) {
        assertThat(files).isEmpty();
      }
    }
  }

  @Test
  void theStoreHasALimit() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      for (int i = 0; i < 5; i++) {
        rig.file("x".repeat(3900));
      }
      BatchRig.Reply full =
          rig.upload(part("name=\"file\"; filename=\"x\"", "x".repeat(600)) + "--b--");
      assertThat(full.status()).isEqualTo(413);
      assertThat(full.text()).contains("batch.max-total");
    }
  }

  @Test
  void anIdIsNoPath() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      for (String id : List.of("..%2Fbatch.db", "../batch.db", "batch.db", "x/content/content")) {
        assertThat(rig.get("/v1/files/" + id).status()).as(id).isEqualTo(404);
        assertThat(rig.get("/v1/files/" + id + "/content").status()).as(id).isEqualTo(404);
      }
    }
  }

  @Test
  void twoRoutersCannotShareADirectory() throws Exception {
    try (BatchRig _ = new BatchRig(directory)) {
      Assertions.assertThatThrownBy(() -> new BatchRig(directory))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("one router at a time");
    }
    Path file = Files.createFile(directory.resolve("plain"));
    Assertions.assertThatThrownBy(() -> new BatchRig(file))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("batch.directory: " + file)
        .hasMessageContaining("a writable directory");
  }
}
