package io.pointsman.control.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.fleet.ServedModels;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ModelListTest {
  private static Set<String> read(String json) throws IOException {
    return models(json).names();
  }

  private static ServedModels models(String json) throws IOException {
    return ModelList.read(json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void namesOfModelsAndAdaptersAreRead() throws IOException {
    assertThat(
            read(
                """
                {"object":"list","extra":{"data":[{"id":"no"}]},"data":[
                  {"id":"llama","object":"model","permission":[{"id":"modelperm-1"}],"parent":null},
                  {"object":"model","parent":"llama","id":"llama-adapter"}]}
                """))
        .containsExactlyInAnyOrder("llama", "llama-adapter");
  }

  @Test
  void modelsWithAnotherParentAreAdapters() throws IOException {
    ServedModels reply =
        models(
            """
            {"data":[{"id":"llama","root":"/models/llama","parent":null},{"id":"alias"},
              {"id":"adapter","parent":"meta/llama"},{"id":"llama:ray"},{"id":"own","parent":"own"},
              {"id":"none","parent":""},{"id":"other:tag","parent":7}]}
            """);

    assertThat(reply.bases())
        .containsExactlyInAnyOrder("llama", "alias", "own", "none", "other:tag");
    assertThat(reply.names()).hasSize(7);
  }

  @Test
  void emptyNamesAreNone() throws IOException {
    assertThat(read("{\"data\":[{\"id\":\"\"},{\"id\":\"m\",\"aliases\":[\"\",\" \"]}]}"))
        .containsExactly("m");
    assertThat(models("{\"data\":[{\"id\":\"\"}]}").any()).isTrue();
  }

  @Test
  void aliasesAreNamesToo() throws IOException {
    ServedModels served =
        models(
            """
            {"data":[{"aliases":["small",7,["no"],"tiny"],"id":"tiny","tags":["no"]},
              {"id":"adapter","aliases":["a"],"parent":"tiny"},{"aliases":["no"]}]}
            """);

    assertThat(served.names()).containsExactlyInAnyOrder("tiny", "small", "adapter", "a");
    assertThat(served.bases()).containsExactlyInAnyOrder("tiny", "small");
  }

  @Test
  void otherJsonContainsNoModels() throws IOException {
    assertThat(read("[]")).isEmpty();
    assertThat(read("{}")).isEmpty();
    assertThat(read("{\"data\":\"x\"}")).isEmpty();
    assertThat(read("{\"data\":[\"x\",1,{\"id\":7},{\"id\":{\"id\":\"x\"}}]}")).isEmpty();
  }

  @Test
  void invalidJsonIsRefused() {
    assertThatThrownBy(() -> read("<html>")).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> read("{\"data\":[{\"id\":\"a\"")).isInstanceOf(IOException.class);
  }

  @Test
  void aVeryLongNameIsIgnored() throws IOException {
    String longest = "n".repeat(ModelList.LONGEST_NAME);
    assertThat(read("{\"data\":[{\"id\":\"%sx\"},{\"id\":\"%s\"}]}".formatted(longest, longest)))
        .containsExactly(longest);
  }

  @Test
  void aHugeListIsTruncated() throws IOException {
    StringBuilder json = new StringBuilder("{\"data\":[");
    for (int i = 0; i < ModelList.MOST_MODELS + 5; i++) {
      json.append(i == 0 ? "" : ",").append("{\"id\":\"").append(i).append("\"}");
    }
    assertThat(read(json.append("]}").toString())).hasSize(ModelList.MOST_MODELS);
  }
}
