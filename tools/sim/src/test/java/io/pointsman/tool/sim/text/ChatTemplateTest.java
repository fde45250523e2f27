package io.pointsman.tool.sim.text;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class ChatTemplateTest {
  @Test
  void conversationReadsAsItsRolesAndTexts() {
    int[] ids = render("[{'role':'system','content':'Be brief.'},{'role':'user','content':'Hi'}]");

    assertThat(Tokeniser.decode(ids))
        .isEqualTo("<|system|>Be brief.<|end|><|user|>Hi<|end|><|assistant|>");
  }

  @Test
  void nextTurnStartsWithThePreviousTurn() {
    int[] first = render("[{'role':'user','content':'Hi'}]");
    int[] second =
        render(
            "[{'role':'user','content':'Hi'},{'role':'assistant','content':'bal dem'},"
                + "{'role':'user','content':'And?'}]");

    assertThat(Arrays.copyOf(second, first.length)).isEqualTo(first);
  }

  @Test
  void textPartsReadAsText() {
    assertThat(render("[{'role':'user','content':[{'type':'text','text':'Hi'}]}]"))
        .isEqualTo(render("[{'role':'user','content':'Hi'}]"));
  }

  @Test
  void imagesCountAndDiffer() {
    int[] one =
        render("[{'role':'user','content':[{'type':'image_url','image_url':{'url':'a'}}]}]");
    int[] two =
        render("[{'role':'user','content':[{'type':'image_url','image_url':{'url':'b'}}]}]");

    assertThat(one).hasSameSizeAs(two).isNotEqualTo(two).hasSizeGreaterThan(64);
    assertThat(Media.shown(one)).isEqualTo(Media.shown(two)).contains(Media.PLACEHOLDER);
  }

  @Test
  void toolsComeBeforeTheMessages() {
    JsonNode tools = json("[{'type':'function'}]");
    int[] ids =
        ChatTemplate.render(
            tools, MissingNode.getInstance(), json("[{'role':'user','content':'Hi'}]"), new int[0]);

    assertThat(Tokeniser.decode(ids)).startsWith("<|tools|>{\"type\":\"function\"}<|end|><|user|>");
  }

  private static int[] render(String messages) {
    return ChatTemplate.render(
        MissingNode.getInstance(), MissingNode.getInstance(), json(messages), new int[0]);
  }

  private static JsonNode json(String text) {
    try {
      return new ObjectMapper().readTree(text.replace('\'', '"'));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(text, e);
    }
  }
}
