package io.pointsman.app.health;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class KvCapacityTest {
  @Test
  void sglangTellsItsTokens() {
    assertThat(KvCapacity.tokens("{\"page_size\":16,\"max_total_num_tokens\": 431200,\"x\":1}"))
        .isEqualTo(431_200);
  }

  @Test
  void vllmTellsItsBlocks() {
    assertThat(
            KvCapacity.tokens(
                """
                # TYPE vllm:cache_config_info gauge
                vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27000"} 1.0
                """))
        .isEqualTo(432_000);
  }

  @Test
  void othersTellNothing() {
    assertThat(KvCapacity.tokens("")).isZero();
    assertThat(KvCapacity.tokens("{\"max_total_num_tokens\":null}")).isZero();
    assertThat(KvCapacity.tokens("vllm:cache_config_info{num_gpu_blocks=\"None\"} 1")).isZero();
    assertThat(KvCapacity.tokens("{\"max_total_num_tokens\":99999999999999999999}")).isZero();
  }
}
