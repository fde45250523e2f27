package io.pointsman.app.health;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class KvCapacityTest {
  private static long ofAll(String told) {
    return KvCapacity.tokens(told, false);
  }

  private static long ofOneRank(String told) {
    return KvCapacity.tokens(told, true);
  }

  @Test
  void sglangTellsItsTokens() {
    assertThat(ofAll("{\"page_size\":16,\"max_total_num_tokens\": 431200,\"x\":1}"))
        .isEqualTo(431_200);
  }

  @Test
  void sglangTellsTheTokensOfOneRankAndHowManyThereAre() {
    String told = "{\"dp_size\": 4,\"max_total_num_tokens\":100000,\"internal_states\":[]}";

    assertThat(ofAll(told)).isEqualTo(400_000);
    assertThat(ofOneRank(told)).isEqualTo(100_000);
  }

  @Test
  void vllmTellsItsBlocks() {
    String told =
        """
        # TYPE vllm:cache_config_info gauge
        vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27000"} 1.0
        """;

    assertThat(ofAll(told)).isEqualTo(432_000);
    assertThat(ofOneRank(told)).isEqualTo(432_000);
  }

  @Test
  void vllmTellsTheBlocksOfAllRanksForEachOfThem() {
    String told =
        """
        vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="54000"} 1.0
        vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="54000"} 1.0
        """;

    assertThat(ofAll(told)).isEqualTo(864_000);
    assertThat(ofOneRank(told)).isEqualTo(432_000);
  }

  /** Of models with caches of several kinds, blocks times their size is not what fits in. */
  @Test
  void vllmTellsTheTokensOfEachRank() {
    String told =
        """
        vllm:cache_config_info{block_size="4",engine="0",kv_cache_size_tokens="300000",num_gpu_blocks="9000"} 1
        vllm:cache_config_info{block_size="4",engine="1",kv_cache_size_tokens="300000",num_gpu_blocks="9000"} 1
        """;

    assertThat(ofAll(told)).isEqualTo(600_000);
    assertThat(ofOneRank(told)).isEqualTo(300_000);
  }

  @Test
  void othersTellNothing() {
    assertThat(ofAll("")).isZero();
    assertThat(ofAll("{\"max_total_num_tokens\":null}")).isZero();
    assertThat(ofAll("vllm:cache_config_info{num_gpu_blocks=\"None\"} 1")).isZero();
    assertThat(ofAll("{\"max_total_num_tokens\":99999999999999999999}")).isZero();
  }
}
