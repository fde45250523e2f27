package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Formats of engines that are not run in the tests: health, model lists, answers, streams, errors
 * and metrics, as their documentation or source shows them. docs/engines.md names the sources.
 */
@Timeout(180)
@Tag("full")
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
final class EngineFormatsTest {
  private static final String CHAT = "/v1/chat/completions";

  /**
   * The formats of one engine.
   *
   * @param health path of the probe
   * @param loading status while a model is loaded; 0 if the engine does not listen before
   * @param models answer to {@code GET /v1/models}
   * @param model the model that it names
   * @param whole answer in one piece
   * @param stream answer as an event stream
   * @param badRequest status and body for a request that is refused
   * @param busy status and body while the engine is overloaded
   * @param load metrics with three running and four queued requests; empty if it has none
   */
  record Format(
      String name,
      String health,
      int loading,
      String models,
      String model,
      String whole,
      String stream,
      Said badRequest,
      Said busy,
      String load) {
    @Override
    public String toString() {
      return name;
    }
  }

  /** A status and a body. */
  record Said(int status, String body) {}

  /** State of an engine. */
  private static final class Mood {
    private volatile boolean ready;

    /** Answer to chats; null for a good one. */
    private volatile @Nullable Said chats;

    Mood(boolean ready, @Nullable Said chats) {
      this.ready = ready;
      this.chats = chats;
    }
  }

  static Stream<Format> formats() {
    return Stream.of(vllm(), sglang(), llamaCpp(), ollama(), tgi());
  }

  /** vLLM 0.6: model cards without an adapter's fields, no cached tokens in {@code usage}. */
  private static Format vllm() {
    return new Format(
        "vLLM 0.6",
        "/health",
        0,
        "{\"object\":\"list\",\"data\":[{\"id\":\"facebook/opt-125m\",\"object\":\"model\","
            + "\"created\":1730000000,\"owned_by\":\"vllm\",\"root\":\"facebook/opt-125m\","
            + "\"parent\":null,\"max_model_len\":2048,\"permission\":[{\"id\":\"modelperm-1\","
            + "\"object\":\"model_permission\",\"allow_sampling\":true}]}]}",
        "facebook/opt-125m",
        "{\"id\":\"chat-1\",\"object\":\"chat.completion\",\"created\":1730000000,"
            + "\"model\":\"facebook/opt-125m\",\"choices\":[{\"index\":0,\"message\":{"
            + "\"role\":\"assistant\",\"content\":\"Hi\",\"tool_calls\":[]},\"logprobs\":null,"
            + "\"finish_reason\":\"stop\",\"stop_reason\":null}],\"usage\":{\"prompt_tokens\":12,"
            + "\"total_tokens\":14,\"completion_tokens\":2},\"prompt_logprobs\":null}",
        "data: {\"id\":\"chat-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n"
            + "data: [DONE]\n\n",
        new Said(
            400,
            "{\"object\":\"error\",\"message\":\"This model's maximum context length is 2048\","
                + "\"type\":\"BadRequestError\",\"param\":null,\"code\":400}"),
        new Said(503, "{\"object\":\"error\",\"message\":\"busy\",\"code\":503}"),
        "vllm:num_requests_running{model_name=\"facebook/opt-125m\"} 3.0\n"
            + "vllm:num_requests_waiting{model_name=\"facebook/opt-125m\"} 4.0\n");
  }

  private static Format sglang() {
    return new Format(
        "SGLang 0.4",
        "/health",
        503,
        "{\"object\":\"list\",\"data\":[{\"id\":\"Qwen/Qwen2.5-7B\",\"object\":\"model\","
            + "\"created\":1740000000,\"owned_by\":\"sglang\",\"root\":\"Qwen/Qwen2.5-7B\","
            + "\"max_model_len\":32768}]}",
        "Qwen/Qwen2.5-7B",
        "{\"id\":\"a1\",\"object\":\"chat.completion\",\"created\":1740000000,"
            + "\"model\":\"Qwen/Qwen2.5-7B\",\"choices\":[{\"index\":0,\"message\":{"
            + "\"role\":\"assistant\",\"content\":\"Hi\",\"reasoning_content\":null,"
            + "\"tool_calls\":null},\"logprobs\":null,\"finish_reason\":\"stop\","
            + "\"matched_stop\":151645}],\"usage\":{\"prompt_tokens\":12,\"total_tokens\":14,"
            + "\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":8}}}",
        "data: {\"id\":\"a1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},"
            + "\"matched_stop\":null}],\"usage\":null}\n\ndata: [DONE]\n\n",
        new Said(
            400,
            "{\"object\":\"error\",\"message\":\"The input is longer than the model's context\","
                + "\"type\":\"BadRequestError\",\"param\":null,\"code\":400}"),
        new Said(
            503,
            "{\"object\":\"error\",\"message\":\"The request queue is full.\","
                + "\"type\":\"ServiceUnavailableError\",\"param\":null,\"code\":503}"),
        "sglang:num_running_reqs{model_name=\"Qwen/Qwen2.5-7B\"} 3.0\n"
            + "sglang:num_queue_reqs{model_name=\"Qwen/Qwen2.5-7B\"} 4.0\n");
  }

  /** Recorded from build 11549. */
  private static Format llamaCpp() {
    return new Format(
        "llama.cpp",
        "/health",
        503,
        "{\"models\":[{\"name\":\"tiny\",\"model\":\"tiny\",\"modified_at\":\"\",\"size\":\"\","
            + "\"digest\":\"\",\"type\":\"model\",\"description\":\"\",\"tags\":[\"\"],"
            + "\"capabilities\":[\"completion\"],\"parameters\":\"\"}],\"object\":\"list\","
            + "\"data\":[{\"id\":\"tiny\",\"aliases\":[\"tiny\"],\"tags\":[],"
            + "\"object\":\"model\",\"architecture\":{\"input_modalities\":[\"text\"],"
            + "\"output_modalities\":[\"text\"]},\"created\":1795738638,"
            + "\"owned_by\":\"llamacpp\",\"meta\":{\"vocab_type\":2,\"n_vocab\":259,"
            + "\"n_ctx\":2048,\"n_ctx_train\":8192,\"n_embd\":128,\"n_params\":722816,"
            + "\"size\":2891264,\"ftype\":\"all F32\"}}]}",
        "tiny",
        "{\"choices\":[{\"finish_reason\":\"length\",\"index\":0,\"message\":{"
            + "\"role\":\"assistant\",\"content\":\"oTbh\"}}],\"created\":1795738655,"
            + "\"model\":\"tiny\",\"system_fingerprint\":\"b0-unknown\","
            + "\"object\":\"chat.completion\",\"usage\":{\"completion_tokens\":4,"
            + "\"prompt_tokens\":739,\"total_tokens\":743,\"prompt_tokens_details\":{"
            + "\"cached_tokens\":0}},\"id\":\"chatcmpl-cKrdI98VFshD1HaqpLmkwC7Wwtn2ecKy\","
            + "\"timings\":{\"cache_n\":0,\"prompt_n\":739,\"prompt_ms\":75.712,"
            + "\"predicted_n\":4,\"predicted_ms\":2.25,\"predicted_per_token_ms\":0.75}}",
        "data: {\"choices\":[{\"finish_reason\":null,\"index\":0,\"delta\":{"
            + "\"role\":\"assistant\",\"content\":null}}],\"created\":1795738655,"
            + "\"model\":\"tiny\",\"object\":\"chat.completion.chunk\"}\n\n"
            + "data: {\"choices\":[{\"finish_reason\":\"length\",\"index\":0,\"delta\":{}}],"
            + "\"object\":\"chat.completion.chunk\",\"timings\":{\"cache_n\":738,"
            + "\"prompt_n\":1,\"prompt_ms\":1.195,\"predicted_n\":2}}\n\ndata: [DONE]\n\n",
        new Said(
            400,
            "{\"error\":{\"code\":400,\"message\":\"request (7219 tokens) exceeds the available"
                + " context size (2048 tokens), try increasing it\","
                + "\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":7219,"
                + "\"n_ctx\":2048}}"),
        new Said(
            503,
            "{\"error\":{\"code\":503,\"message\":\"Loading model\","
                + "\"type\":\"unavailable_error\"}}"),
        "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 3\n"
            + "# TYPE llamacpp:requests_deferred gauge\nllamacpp:requests_deferred 4\n");
  }

  /** Its models are loaded by requests. It has no {@code /health}; {@code GET /} is 200. */
  private static Format ollama() {
    return new Format(
        "Ollama",
        "/",
        0,
        "{\"object\":\"list\",\"data\":[{\"id\":\"llama3.2:latest\",\"object\":\"model\","
            + "\"created\":1760000000,\"owned_by\":\"library\"}]}",
        "llama3.2:latest",
        "{\"id\":\"chatcmpl-7\",\"object\":\"chat.completion\",\"created\":1760000000,"
            + "\"model\":\"llama3.2:latest\",\"system_fingerprint\":\"fp_ollama\",\"choices\":[{"
            + "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},"
            + "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,"
            + "\"completion_tokens\":2,\"total_tokens\":14}}\n",
        "data: {\"id\":\"chatcmpl-7\",\"object\":\"chat.completion.chunk\",\"choices\":[{"
            + "\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},"
            + "\"finish_reason\":null}]}\n\ndata: [DONE]\n\n",
        new Said(
            404,
            "{\"error\":{\"message\":\"model \\\"llama9\\\" not found, try pulling it first\","
                + "\"type\":\"api_error\",\"param\":null,\"code\":null}}"),
        new Said(
            503,
            "{\"error\":{\"message\":\"server busy, please try again. maximum pending requests"
                + " exceeded\",\"type\":\"api_error\",\"param\":null,\"code\":null}}"),
        "");
  }

  /** Its events have no blank after {@code data:}. */
  private static Format tgi() {
    return new Format(
        "TGI 3",
        "/health",
        503,
        "{\"object\":\"list\",\"data\":[{\"id\":\"HuggingFaceH4/zephyr-7b-beta\","
            + "\"object\":\"model\",\"created\":0,\"owned_by\":\"HuggingFaceH4/zephyr-7b-beta\"}]}",
        "HuggingFaceH4/zephyr-7b-beta",
        "{\"object\":\"chat.completion\",\"id\":\"\",\"created\":1730000000,"
            + "\"model\":\"HuggingFaceH4/zephyr-7b-beta\",\"system_fingerprint\":\"3.0.0-native\","
            + "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},"
            + "\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,"
            + "\"completion_tokens\":2,\"total_tokens\":14}}",
        "data:{\"object\":\"chat.completion.chunk\",\"id\":\"\",\"choices\":[{\"index\":0,"
            + "\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n"
            + "data:[DONE]\n\n",
        new Said(
            422,
            "{\"error\":\"Input validation error: `inputs` must have less than 1024 tokens\","
                + "\"error_type\":\"validation\"}"),
        new Said(429, "{\"error\":\"Model is overloaded\",\"error_type\":\"overloaded\"}"),
        "# TYPE tgi_batch_current_size gauge\ntgi_batch_current_size 3\n"
            + "# TYPE tgi_queue_size gauge\ntgi_queue_size 4\n");
  }

  /** An engine that answers in its format. */
  private static EngineScript script(Format format, Mood mood) {
    return (request, connection) -> {
      Said said = mood.chats;
      String[] line = request.line().split(" ", -1);
      String path = line[1];
      if (path.equals(format.health)) {
        connection.reply(mood.ready ? 200 : format.loading, "text/plain", "");
      } else if (path.equals("/v1/models")) {
        connection.reply(200, "application/json", format.models);
      } else if (path.equals("/metrics") && !format.load.isEmpty()) {
        connection.reply(200, "text/plain", format.load);
      } else if (!path.equals(CHAT)) {
        connection.reply(404, "text/plain", "404 page not found");
      } else if (said != null) {
        connection.reply(said.status, "application/json", said.body);
      } else if (request.bodyText().contains("\"stream\":true")) {
        connection.beginEvents();
        for (String event : format.stream.split("(?<=\n\n)", -1)) {
          if (!event.isEmpty()) {
            connection.chunk(event);
          }
        }
        connection.lastChunk();
      } else {
        connection.reply(200, "application/json", format.whole);
      }
    };
  }

  private static RunningRouter route(Format format, List<ScriptedEngine> engines) {
    return RunningRouter.start(
        "workers: ["
            + String.join(", ", engines.stream().map(ScriptedEngine::url).toList())
            + "]\nlisten: {port: 0}\nmetrics: {port: 0}\nlog: {level: warn}\n"
            + "health: {endpoint: '"
            + format.health
            + "'}\nengine-load: {interval: 100ms}\n");
  }

  private static HttpAnswer ask(RunningRouter router, Format format, String more)
      throws IOException {
    String body = "{\"model\":\"" + format.model + "\",\"messages\":[]" + more + "}";
    return RawClient.call(router.port(), "POST", CHAT, body);
  }

  @ParameterizedTest
  @MethodSource("formats")
  void anEngineIsUnderstood(Format format) throws Exception {
    Mood mood = new Mood(format.loading == 0, null);
    try (ScriptedEngine engine = ScriptedEngine.start(script(format, mood));
        RunningRouter router = route(format, List.of(engine))) {
      if (format.loading != 0) {
        WaitFor.until("a probe", WaitFor.LONG, () -> !engine.requests().isEmpty());
        assertThat(ask(router, format, "").status()).as("while loading").isEqualTo(503);
        mood.ready = true;
      }
      WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
      Worker worker = router.workers().getFirst();
      assertThat(worker.models()).isEqualTo(Set.of(format.model));

      assertThat(ask(router, format, "").text()).isEqualTo(format.whole);
      assertThat(ask(router, format, ",\"stream\":true").text()).isEqualTo(format.stream);
      mood.chats = format.badRequest;
      HttpAnswer refused = ask(router, format, "");
      assertThat(refused.status()).isEqualTo(format.badRequest.status);
      assertThat(refused.text()).isEqualTo(format.badRequest.body);
      if (!format.load.isEmpty()) {
        WaitFor.until(
            "its load",
            WaitFor.LONG,
            () ->
                worker.capacity().reported().running() + worker.capacity().reported().waiting()
                    == 7);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("formats")
  void anOverloadedEngineIsLeftForAnother(Format format) throws Exception {
    Mood busy = new Mood(true, format.busy);
    Mood idle = new Mood(true, null);
    try (ScriptedEngine one = ScriptedEngine.start(script(format, busy));
        ScriptedEngine other = ScriptedEngine.start(script(format, idle));
        RunningRouter router = route(format, List.of(one, other))) {
      WaitFor.until("healthy", WaitFor.LONG, router::allHealthy);
      for (int i = 0; i < 6; i++) {
        HttpAnswer answer = ask(router, format, ",\"n\":" + i);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.header("x-pointsman-worker")).isEqualTo(other.id());
      }
    }
  }
}
