package io.pointsman.pd.body;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.body.ReplyReader.Result;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.request.splice.RawJson;
import org.junit.jupiter.api.Test;

class ReplyReaderTest {
  private final ReplyReader reader = new ReplyReader(1000);

  private Result result(String reply) {
    byte[] bytes = (" " + reply).getBytes(UTF_8);
    return reader.read(bytes, 1, bytes.length - 1);
  }

  private PrefillReply read(String reply) {
    return switch (result(reply)) {
      case Result.Read(PrefillReply read) -> read;
      case Result.Unreadable(String reason) -> throw new AssertionError(reason);
    };
  }

  @Test
  void parametersKeepTheirBytes() {
    String params =
        "{\"remote_block_ids\": [[17, 18],[] ],\"x\":{\"y\":[1.50,1E+2,-0]},"
            + "\"big\":123456789012345678901234567890,\"s\":\"\\u00e9\\/\" }";
    PrefillReply reply = read("{\"id\":\"a\",\"kv_transfer_params\" : " + params + " , \"z\":0}");

    assertThat(reply.kvTransferParams()).isEqualTo(RawJson.of(params));
    assertThat(reply.param("big")).isEqualTo(RawJson.of("123456789012345678901234567890"));
    assertThat(reply.param("missing")).isNull();
  }

  @Test
  void parametersElsewhereInTheAnswerDoNotCount() {
    String reply =
        "{\"choices\":[{\"kv_transfer_params\":{\"a\":1}}],\"t\":\"\\\"kv_transfer_params\\\":{}\"}";

    assertThat(read(reply).kvTransferParams()).isNull();
  }

  @Test
  void nullCountsAsAbsent() {
    PrefillReply reply = read("{\"kv_transfer_params\":null}");

    assertThat(reply.kvTransferParams()).isNull();
    assertThat(reply.params()).isEmpty();
  }

  @Test
  void aNullParameterIsReadAsNull() {
    PrefillReply reply = read("{\"kv_transfer_params\":{\"remote_host\":null}}");

    assertThat(reply.param("remote_host")).isNull();
    assertThat(reply.says("remote_host", RawJson.NULL)).isTrue();
    assertThat(reply.says("remote_port", RawJson.NULL)).isFalse();
  }

  @Test
  void largeParametersAreRefused() {
    String most = "{\"a\":\"" + "x".repeat(1000 - 8) + "\"}";

    assertThat(read("{\"kv_transfer_params\":" + most + "}").kvTransferParams())
        .isEqualTo(RawJson.of(most));
    assertThat(result("{\"kv_transfer_params\":" + most.replace("a", "ab") + "}"))
        .isEqualTo(new Result.Unreadable("kv_transfer_params: 1001 bytes (expected: <= 1000)"));
  }

  @Test
  void anAnswerThatIsNotAnObjectIsUnreadable() {
    assertThat(result("[]")).isInstanceOf(Result.Unreadable.class);
    assertThat(result("{\"kv_transfer_params\":{")).isInstanceOf(Result.Unreadable.class);
  }

  @Test
  void theFirstTokenAndItsEndAreRead() {
    PrefillReply reply =
        read(
            "{\"choices\":[ {\"index\":0,\"text\":\" Hel\\\"lo\",\"finish_reason\":\"length\"}],"
                + "\"kv_transfer_params\":{\"first_tok\":22691}}");

    assertThat(reply.firstText()).isEqualTo(RawJson.of("\" Hel\\\"lo\""));
    assertThat(reply.finishReason()).isEqualTo("length");
    assertThat(reply.param("first_tok")).isEqualTo(RawJson.of(22691));
    assertThat(read("{\"choices\":[]}").firstText()).isNull();
    assertThat(read("{\"choices\":[1]}").finishReason()).isNull();
  }

  @Test
  void cachedTokensAreReadInEveryForm() {
    assertThat(
            read("{\"usage\":{\"prompt_tokens_details\":{\"cached_tokens\":768}}}").cachedTokens())
        .isEqualTo(768);
    assertThat(read("{\"usage\":{\"input_tokens_details\":{\"cached_tokens\":0}}}").cachedTokens())
        .isZero();
    assertThat(read("{\"usage\":{\"cache_read_input_tokens\":5}}").cachedTokens()).isEqualTo(5);
    assertThat(
            read("{\"response\":{\"usage\":{\"input_tokens_details\":{\"cached_tokens\":512}}}}")
                .cachedTokens())
        .isEqualTo(512);
    assertThat(read("{\"message\":{\"usage\":{\"cache_read_input_tokens\":7}}}").cachedTokens())
        .isEqualTo(7);
    assertThat(read("{\"usage\":{\"prompt_tokens_details\":null}}").cachedTokens()).isEqualTo(-1);
    assertThat(read("{\"usage\":null}").cachedTokens()).isEqualTo(-1);
  }

  @Test
  void generateReportsCachedTokensInMetaInfo() {
    assertThat(read("{\"meta_info\":{\"cached_tokens\":12}}").cachedTokens()).isEqualTo(12);
    assertThat(read("{\"meta_info\":{}}").cachedTokens()).isEqualTo(-1);
  }
}
