package io.pointsman.request.strict;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrictBodyTest {
  private static StrictBody.@Nullable Problem problem(Endpoint endpoint, String body) {
    byte[] bytes = body.replace('\'', '"').getBytes(UTF_8);
    return StrictBody.problem(endpoint, bytes, 0, bytes.length);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'messages':[]}",
        "{'messages':[{'role':'user','content':'a'}],'temperature':0.5,'n':2,'seed':-3}",
        "{'messages':[{'role':'assistant','tool_calls':[]},{'role':'tool','content':'x'}]}",
        "{'messages':[{'role':'user','content':[{'type':'text','text':'a'},"
            + "{'type':'image_url','image_url':{'url':'data:'}}]}]}",
        "{'messages':[],'stop':['a'],'stream':true,'max_tokens':null,'unknown':{'x':1}}",
        "{'messages':[],'tools':[{'type':'function','function':{'name':'f'}}],"
            + "'tool_choice':'auto','response_format':{'type':'json_object'}}",
        "{'messages':[],'tool_choice':{'type':'function','function':{'name':'f'}},"
            + "'reasoning_effort':'xhigh'}"
      })
  void goodChatsPass(String body) {
    assertThat(problem(Endpoint.CHAT_COMPLETIONS, body)).isNull();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{'messages':'a'}",
        "{'messages':null}",
        "{'messages':[{'content':'a'}]}",
        "{'messages':[{'role':'guest','content':'a'}]}",
        "{'messages':[{'role':'user'}]}",
        "{'messages':[{'role':'user','content':7}]}",
        "{'messages':[{'role':'user','content':[{'type':'input_audio'}]}]}",
        "{'messages':[{'role':'user','content':[{'type':'text'}]}]}",
        "{'messages':[],'temperature':'hot'}",
        "{'messages':[],'max_tokens':1.5}",
        "{'messages':[],'max_tokens':-1}",
        "{'messages':[],'n':4294967296}",
        "{'messages':[],'stream':'yes'}",
        "{'messages':[],'stop':[1]}",
        "{'messages':[],'tools':[{'type':'magic'}]}",
        "{'messages':[],'tool_choice':'perhaps'}",
        "{'messages':[],'response_format':{'type':'xml'}}",
        "{'messages':[],'reasoning_effort':'much'}"
      })
  void chatsOfAWrongTypeAreRefused(String body) {
    assertThat(problem(Endpoint.CHAT_COMPLETIONS, body))
        .isNotNull()
        .extracting(StrictBody.Problem::kind)
        .isEqualTo(StrictBody.Kind.TYPE);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'prompt':'a'}",
        "{'prompt':['a','b']}",
        "{'prompt':[1,2]}",
        "{'prompt':[[1],[2,3]]}",
        "{'prompt':[]}"
      })
  void promptsHaveFourForms(String body) {
    assertThat(problem(Endpoint.COMPLETIONS, body)).isNull();
  }

  @Test
  void otherRoutesAreCheckedToo() {
    assertThat(problem(Endpoint.COMPLETIONS, "{'prompt':[1,'a']}")).isNotNull();
    assertThat(problem(Endpoint.COMPLETIONS, "{'messages':[]}")).isNotNull();
    assertThat(problem(Endpoint.EMBEDDINGS, "{'model':'m'}")).isNotNull();
    assertThat(problem(Endpoint.EMBEDDINGS, "{'input':'a','dimensions':8}")).isNull();
    assertThat(problem(Endpoint.TOKEN_GENERATE, "{'token_ids':['a']}")).isNotNull();
    assertThat(problem(Endpoint.GENERATE, "{'text':7}")).isNotNull();
    assertThat(problem(Endpoint.RESPONSES, "{'input':7}")).as("forwarded there unread").isNull();
  }

  @Test
  void anEmptyRerankIsRefused() {
    String good = "{'query':'q','documents':['a'],'top_k':1}";
    assertThat(problem(Endpoint.RERANK, good)).isNull();
    for (String bad :
        new String[] {
          good.replace("'q'", "' '"), good.replace("['a']", "[]"), good.replace(":1}", ":0}")
        }) {
      assertThat(problem(Endpoint.RERANK, bad))
          .as(bad)
          .isNotNull()
          .extracting(StrictBody.Problem::kind)
          .isEqualTo(StrictBody.Kind.VALUE);
    }
    assertThat(problem(Endpoint.RERANK, good.replace("['a']", "[1]")))
        .isNotNull()
        .extracting(StrictBody.Problem::kind)
        .isEqualTo(StrictBody.Kind.TYPE);
  }

  private static @Nullable String answer(String request, String reply) {
    byte[] body = request.replace('\'', '"').getBytes(UTF_8);
    byte[] changed =
        RerankForm.of(body, 0, body.length).answer(reply.replace('\'', '"').getBytes(UTF_8), 17);
    return changed == null ? null : new String(changed, UTF_8).replace('"', '\'');
  }

  private static final String VLLM =
      "{'id':'rerank-1','model':'m','usage':{'total_tokens':5},'results':["
          + "{'index':0,'document':{'text':'a'},'relevance_score':0.25},"
          + "{'index':1,'document':{'text':'b'},'relevance_score':0.75}]}";

  @Test
  void theAnswerOfVllmIsMapped() {
    assertThat(answer("{'model':'m','query':'q','documents':['a','b'],'rid':'r7'}", VLLM))
        .isEqualTo(
            "{'results':[{'score':0.75,'document':'b','index':1},"
                + "{'score':0.25,'document':'a','index':0}],'model':'m','usage':null,"
                + "'object':'rerank','id':'r7','created':17}");
  }

  @Test
  void theWishesOfTheRequestCount() {
    String bare = "[{'score':1e-3,'index':0},{'score':0.5,'index':1,'document':'b'}]";
    assertThat(answer("{'top_k':1,'return_documents':false}", bare))
        .isEqualTo(
            "{'results':[{'score':0.5,'index':1}],'model':'default','usage':null,"
                + "'object':'rerank','id':null,'created':17}");
    assertThat(answer("{}", "{'results':[{'index':1}]}")).isNull();
    assertThat(answer("{}", "{'data':[]}")).isNull();
    assertThat(answer("{}", "oops")).isNull();
  }
}
