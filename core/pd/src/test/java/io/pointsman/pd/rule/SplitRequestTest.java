package io.pointsman.pd.rule;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.pd.plan.SplitFacts;
import java.util.Map;
import org.junit.jupiter.api.Test;

class SplitRequestTest {
  @Test
  void policiesOfAllPartsSeeTheClientsFields() {
    RequestFields fields = new RequestFields("/", Map.of("x-tier", "flex"), Map.of(), true);
    SplitRequest request =
        new SplitRequest("m", PrefixBlocks.NONE, null, SplitFacts.ofNoPrompt(), fields);
    request.prefillGoesOn();
    assertThat(request.whole().fields()).isSameAs(fields);
    assertThat(request.prefill().fields()).isSameAs(fields);
    assertThat(request.decode().fields()).isSameAs(fields);
    assertThat(request.wholeByPrefill().fields()).isSameAs(fields);
    assertThat(request.whole().copy().fields()).isSameAs(fields);
  }
}
