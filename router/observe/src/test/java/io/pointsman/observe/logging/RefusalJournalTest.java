package io.pointsman.observe.logging;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.RejectReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.reply.ProxyError;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RefusalJournalTest {
  private final List<String> lines = new ArrayList<>();
  private long second = 1_700_000_000;
  private Set<String> models = Set.of("llama", "qwen");
  private final RefusalJournal journal =
      new RefusalJournal(() -> models, () -> second * 1_000_000_000L, lines::add);

  private void ask(String id, String model, RejectReason reason) {
    RoutingRequest request = RoutingRequest.builder().model(model).build();
    request.named(id);
    journal.rejected(request, reason);
  }

  @Test
  void anUnknownModelIsNamedWithTheServedOnes() {
    ask("r-1", "gpt-4", RejectReason.UNKNOWN_MODEL);
    assertThat(lines)
        .containsExactly(
            "request r-1 refused (model_not_found): model gpt-4 is not served (served: [llama,"
                + " qwen])");
  }

  @Test
  void aLineASecondCountsThoseLeftOut() {
    for (int i = 0; i < 5; i++) {
      ask("r-" + i, "gpt-4", RejectReason.UNKNOWN_MODEL);
    }
    assertThat(lines).hasSize(1);
    second++;
    ask("r-5", "gpt-4", RejectReason.UNKNOWN_MODEL);
    second++;
    ask("r-6", "gpt-4", RejectReason.UNKNOWN_MODEL);
    assertThat(lines).hasSize(3);
    assertThat(lines.get(1))
        .startsWith("request r-5 ")
        .endsWith("; 4 more with this reason since the last such line");
    assertThat(lines.get(2)).startsWith("request r-6 ").doesNotContain("more with this reason");
  }

  @Test
  void textOfAClientStaysOnItsLineAndIsCut() {
    models = Set.of();
    ask("r\n1", "a\nb" + "x".repeat(1000), RejectReason.UNKNOWN_MODEL);
    assertThat(lines.getFirst())
        .startsWith("request r\\u000a1 refused (model_not_found): model a\\u000abxxx")
        .endsWith("... is not served (served: none)")
        .hasSizeLessThan(300);
  }

  @ParameterizedTest
  @EnumSource(
      value = RejectReason.class,
      names = {"NO_WORKERS", "MODELS_PENDING", "NONE_AVAILABLE", "UNSPLITTABLE"})
  void eachReasonHasItsOwnLine(RejectReason reason) {
    ask("r-1", "gpt-4", RejectReason.UNKNOWN_MODEL);
    ask("r-2", "llama", reason);
    ask("r-3", "llama", reason);
    assertThat(lines).hasSize(2);
    assertThat(lines.get(1))
        .startsWith("request r-2 refused (" + ProxyError.valueOf(reason.name()).code() + "): ");
  }

  private void call(String id, String path, ProxyError error) {
    LocalRequest request =
        new LocalRequest(
            "GET", path, "key=secret", Map.of(), new byte[0], false, id, Caller.Kind.OPEN, null);
    journal.closed(request, error, "not served");
  }

  @Test
  void eachKindOfClosedPathHasALineASecond() {
    call("r-1", "/workers", ProxyError.ADMIN_PATH);
    call("r-2", "/flush_cache", ProxyError.ADMIN_PATH);
    call("r-3", "/sleep", ProxyError.PATH_REFUSED);
    second++;
    call("r-4", "/a%0ab" + "x".repeat(1000), ProxyError.ADMIN_PATH);
    assertThat(lines).hasSize(3);
    assertThat(lines.subList(0, 2))
        .containsExactly(
            "request r-1 refused (admin_path): GET /workers: not served",
            "request r-3 refused (path_refused): GET /sleep: not served");
    assertThat(lines.getLast())
        .startsWith("request r-4 refused (admin_path): GET /a%0abxxx")
        .endsWith("...: not served; 1 more with this reason since the last such line")
        .hasSizeLessThan(350);
  }

  @ParameterizedTest
  @EnumSource(
      value = RejectReason.class,
      names = {"ALL_BUSY", "ALL_TRIED"})
  void refusalsBecauseOfLoadHaveNoLine(RejectReason reason) {
    ask("r-1", "llama", reason);
    assertThat(lines).isEmpty();
  }
}
