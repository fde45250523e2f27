package io.pointsman.pd.body;

import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the facts that decide about prefill and decode on two workers. It is a separate pass,
 * only for requests to a fleet of prefill and decode workers. Keeps scratch memory; use one reader
 * per thread.
 */
public final class SplitFactsReader {
  private static final List<String> PROMPTS =
      List.of("prompt", "text", "input_ids", "prompt_token_ids", "token_ids", "prompt_embeds");
  private static final List<String> LIMITS =
      List.of("max_completion_tokens", "max_tokens", "max_output_tokens");
  private static final List<String> STORED = List.of("previous_response_id", "conversation");
  private static final List<String> PROMPT_LOGPROBS =
      List.of("prompt_logprobs", "logprob_start_len");

  /**
   * Members of a plain completion. {@code seed} is not one: two workers would draw their first
   * token with the same numbers. Members about the text are not: each worker has only a part of the
   * text.
   */
  private static final Set<String> PLAIN =
      Set.of(
          "model",
          "prompt",
          "max_tokens",
          "stream",
          "stream_options",
          "temperature",
          "top_p",
          "top_k",
          "min_p",
          "n",
          "best_of",
          "echo",
          "use_beam_search",
          "ignore_eos",
          "user",
          "priority",
          "kv_transfer_params");

  /** Paths of the objects inside a body that plans edit. */
  private static final List<List<String>> EDITED =
      List.of(List.of("vllm_xargs"), List.of("sampling_params", "extra_args"));

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final InputSize size;
  private final PromptLists lists;

  /** Creates a reader for lists of prompts that are not split and that are sized by content. */
  public SplitFactsReader() {
    this(PromptLists.DEFAULTS);
  }

  /**
   * @param lists rules for lists of prompts
   */
  public SplitFactsReader(PromptLists lists) {
    this.lists = lists;
    size = new InputSize(lists.sizedByLength());
  }

  /** True if requests of a route can be split, as far as their bodies allow it. */
  public static boolean splits(Endpoint endpoint) {
    return split(endpoint) != null;
  }

  /**
   * Reads one body.
   *
   * @param body array that contains the body; neither changed nor kept
   * @param estimate true to estimate the size of the input, which reads the prompt once more. It is
   *     unnecessary if {@code RequestFacts.prefix().tokens()}, an upper bound, is below the limit
   */
  public SplitFacts read(Endpoint endpoint, byte[] body, int offset, int length, boolean estimate) {
    PdEndpoint split = split(endpoint);
    JsonMembers members =
        split == null ? null : JsonMembers.read(json, body, offset, offset + length);
    if (members == null || EDITED.stream().anyMatch(path -> !readable(body, members, path))) {
      return SplitFacts.unreadable(split);
    }
    Values outer = new Values(body, members);
    JsonMembers sampling = object(body, members, "sampling_params");
    Values values = sampling == null ? outer : outer.or(new Values(body, sampling));
    Prompt prompt = prompt(body, members);
    return new SplitFacts(
        split,
        true,
        values.number("n"),
        values.number("best_of"),
        values.wanted("use_beam_search"),
        values.wanted("echo"),
        PROMPT_LOGPROBS.stream().anyMatch(values::asked),
        prompt.prompts(),
        STORED.stream().anyMatch(values::present),
        values.wanted("background"),
        prompt.tokens(),
        prompt.tokens() && plain(members),
        limit(values),
        outer.isTrue("stream"),
        estimate ? size.tokens(body, members) : SplitFacts.ABSENT,
        false);
  }

  /** True if engines compute nothing for a request: it has no prompt, or only counts its tokens. */
  public static boolean promptless(RequestFacts request) {
    return switch (request.endpoint()) {
      case RESPONSE_GET,
          RESPONSE_DELETE,
          RESPONSE_CANCEL,
          RESPONSE_INPUT_ITEMS,
          TOKENIZE,
          DETOKENIZE,
          MESSAGES_COUNT_TOKENS ->
          true;
      case CHAT_COMPLETIONS,
          COMPLETIONS,
          RESPONSES,
          MESSAGES,
          GENERATE,
          TOKEN_GENERATE,
          EMBEDDINGS,
          RERANK,
          SCORE,
          POOLING,
          CLASSIFY,
          AUDIO_TRANSCRIPTIONS,
          AUDIO_TRANSLATIONS,
          AUDIO_SPEECH,
          IMAGES_GENERATIONS,
          IMAGES_EDITS,
          IMAGES_VARIATIONS,
          REALTIME ->
          false;
      case TRANSPARENT -> request.body().kind() == BodyVerdict.Kind.EMPTY;
    };
  }

  private static @Nullable PdEndpoint split(Endpoint endpoint) {
    return switch (endpoint) {
      case CHAT_COMPLETIONS -> PdEndpoint.CHAT;
      case COMPLETIONS -> PdEndpoint.COMPLETIONS;
      case RESPONSES -> PdEndpoint.RESPONSES;
      case MESSAGES -> PdEndpoint.MESSAGES;
      case GENERATE -> PdEndpoint.GENERATE;
      case TOKEN_GENERATE -> PdEndpoint.TOKEN_GENERATE;
      case RESPONSE_GET,
          RESPONSE_DELETE,
          RESPONSE_CANCEL,
          RESPONSE_INPUT_ITEMS,
          EMBEDDINGS,
          RERANK,
          SCORE,
          POOLING,
          CLASSIFY,
          TOKENIZE,
          DETOKENIZE,
          MESSAGES_COUNT_TOKENS,
          AUDIO_TRANSCRIPTIONS,
          AUDIO_TRANSLATIONS,
          AUDIO_SPEECH,
          IMAGES_GENERATIONS,
          IMAGES_EDITS,
          IMAGES_VARIATIONS,
          REALTIME,
          TRANSPARENT ->
          null;
    };
  }

  /**
   * True if all members are plain. Any other member may affect the tokens or the report about them.
   */
  private static boolean plain(JsonMembers members) {
    for (int i = 0; i < members.count(); i++) {
      if (!PLAIN.contains(members.name(i))) {
        return false;
      }
    }
    return true;
  }

  private static long limit(Values values) {
    for (String name : LIMITS) {
      long limit = values.number(name);
      if (limit != SplitFacts.ABSENT) {
        return limit;
      }
    }
    return SplitFacts.ABSENT;
  }

  /**
   * False if an object that a plan may edit has more members than can be read. Its path can occur
   * several times.
   */
  private boolean readable(byte[] body, JsonMembers members, List<String> path) {
    for (int i = 0; i < members.count(); i++) {
      int from = members.valueFrom(i);
      if (members.is(i, path.getFirst()) && body[from] == '{') {
        JsonMembers inner = JsonMembers.read(json, body, from, members.valueTo(i));
        List<String> rest = path.subList(1, path.size());
        if (inner == null || (!rest.isEmpty() && !readable(body, inner, rest))) {
          return false;
        }
      }
    }
    return true;
  }

  private @Nullable JsonMembers object(byte[] body, JsonMembers members, String name) {
    int i = members.last(name);
    return i < 0 ? null : JsonMembers.read(json, body, members.valueFrom(i), members.valueTo(i));
  }

  private record Prompt(int prompts, boolean tokens) {}

  /** All values of prompt fields. Two or more values count as two prompts. */
  private Prompt prompt(byte[] body, JsonMembers members) {
    int prompts = 0;
    boolean tokens = false;
    for (int i = 0; i < members.count(); i++) {
      if (isPrompt(members, i) && body[members.valueFrom(i)] != 'n') {
        Prompt found = prompt(body, members.valueFrom(i), members.valueTo(i));
        prompts += found.prompts;
        tokens = found.tokens;
      }
    }
    return new Prompt(Math.clamp(prompts, 1, 2), tokens && prompts == 1);
  }

  private static boolean isPrompt(JsonMembers members, int i) {
    for (String name : PROMPTS) {
      if (members.is(i, name)) {
        return true;
      }
    }
    return false;
  }

  private Prompt prompt(byte[] body, int from, int to) {
    if (body[from] != '[') {
      return new Prompt(1, false);
    }
    json.reset(body, from, to);
    int prompts = 0;
    for (boolean more = json.firstElement(); more && prompts < 2; more = json.nextElement()) {
      int first = json.peek();
      if (first >= '0' && first <= '9') {
        return new Prompt(1, true);
      }
      json.value();
      prompts++;
    }
    return new Prompt(lists.together() ? Math.min(prompts, 1) : prompts, false);
  }
}
