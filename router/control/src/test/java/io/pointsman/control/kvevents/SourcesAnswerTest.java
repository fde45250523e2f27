package io.pointsman.control.kvevents;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.settings.ZmqAddress;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SourcesAnswerTest {
  private static List<SourceSpec> sources(String json) throws IOException {
    return SourcesAnswer.sources(json.replace('\'', '"').getBytes(UTF_8));
  }

  private static List<SourceSpec> configured(String json) throws IOException {
    return SourcesAnswer.configured(json.replace('\'', '"').getBytes(UTF_8));
  }

  @Test
  void ranksCanBeMembers() throws IOException {
    assertThat(
            sources(
                """
                {'1': {'endpoint': 'tcp://*:5558', 'topic': 'kv', 'publisher': 'zmq'},
                 '0': {'endpoint': 'tcp://10.0.0.1:5557', 'replay_endpoint': 'tcp://[::]:6000',
                       'topic': '', 'encoding': 'msgpack', 'schema_version': 1, 'hwm': 5},
                 'instance': 'x'}\
                """))
        .containsExactly(
            new SourceSpec(
                0,
                false,
                new ZmqAddress("10.0.0.1", 5557),
                new ZmqAddress(ZmqAddress.ANY, 6000),
                "",
                true),
            new SourceSpec(1, new ZmqAddress(ZmqAddress.ANY, 5558), null, "kv"));
  }

  @Test
  void ranksCanBeItemsOfAList() throws IOException {
    assertThat(
            sources(
                """
                {'sources': [{'data_parallel_rank': 2, 'endpoint': 'tcp://0.0.0.0:5559',
                              'replay_endpoint': null, 'topic': 'kv'}]}\
                """))
        .containsExactly(new SourceSpec(2, new ZmqAddress(ZmqAddress.ANY, 5559), null, "kv"));
  }

  @Test
  void aListCanBeBare() throws IOException {
    assertThat(
            sources(
                """
                [{'data_parallel_rank': 0, 'endpoint': 'tcp://10.0.0.1:5557',
                  'replay_endpoint': null, 'topic': ''},
                 {'data_parallel_rank': 1, 'endpoint': 'tcp://10.0.0.1:5558',
                  'replay_endpoint': 'tcp://10.0.0.1:5601', 'topic': ''}]\
                """))
        .containsExactly(
            new SourceSpec(0, false, new ZmqAddress("10.0.0.1", 5557), null, "", true),
            new SourceSpec(
                1,
                false,
                new ZmqAddress("10.0.0.1", 5558),
                new ZmqAddress("10.0.0.1", 5601),
                "",
                true));
  }

  @Test
  void disabledEventsMeanNoPublishers() throws IOException {
    assertThat(sources("{}")).isEmpty();
    assertThat(sources("[]")).isEmpty();
    assertThat(sources("{'0': {'enable_kv_cache_events': false}}")).isEmpty();
    assertThat(sources("{'0': {'publisher': 'null', 'endpoint': 'tcp://*:1'}}")).isEmpty();
    assertThat(configured("{'vllm_config': {'kv_events_config': null}}")).isEmpty();
    assertThat(configured("{'vllm_config': 'as text'}")).isEmpty();
  }

  @Test
  void aConfigurationContainsRankZeroAndTheNumberOfRanks() throws IOException {
    assertThat(
            configured(
                """
                {'vllm_config': {'parallel_config': {'data_parallel_size': 2},
                  'kv_events_config': {'enable_kv_cache_events': true, 'publisher': 'zmq',
                    'endpoint': 'tcp://*:5557', 'replay_endpoint': 'tcp://*:5600', 'topic': 't'}}}\
                """))
        .containsExactly(
            new SourceSpec(
                0, new ZmqAddress(ZmqAddress.ANY, 5557), new ZmqAddress(ZmqAddress.ANY, 5600), "t"),
            new SourceSpec(
                1,
                new ZmqAddress(ZmqAddress.ANY, 5558),
                new ZmqAddress(ZmqAddress.ANY, 5601),
                "t"));
  }

  @ParameterizedTest
  @CsvSource({
    "tcp://*:5557,false",
    "tcp://0.0.0.0:5557,false",
    "tcp://[::]:5557,false",
    "tcp://[::1]:5557,false",
    "tcp://localhost:5557,true",
    "tcp://10.0.0.1:5557,true"
  })
  void aConfiguredEndpointWithoutAWildcardIsConnectedByTheEngine(String endpoint, boolean connects)
      throws IOException {
    assertThat(
            configured(
                """
                {'vllm_config': {'kv_events_config': {'enable_kv_cache_events': true,
                  'publisher': 'zmq', 'endpoint': '%s'}}}\
                """
                    .formatted(endpoint)))
        .singleElement()
        .matches(source -> source.connects() == connects, "connects: " + connects);
    assertThat(sources("{'0': {'endpoint': '" + endpoint + "'}}"))
        .allMatch(source -> source.connects() == connects);
  }

  @Test
  void sglangReportsItsConfigurationAsATextInItsArguments() throws IOException {
    String arguments =
        """
        {"model_path": "m", "dp_size": 2, "kv_events_config":
          "{\\"publisher\\": \\"zmq\\", \\"endpoint\\": \\"tcp://*:5600\\", \\"topic\\": \\"kv\\"}"}\
        """;
    assertThat(SourcesAnswer.configured(arguments.getBytes(UTF_8)))
        .containsExactly(
            new SourceSpec(0, new ZmqAddress(ZmqAddress.ANY, 5600), null, "kv"),
            new SourceSpec(1, new ZmqAddress(ZmqAddress.ANY, 5601), null, "kv"));
    assertThat(
            SourcesAnswer.configured(
                "{\"kv_events_config\": \"{\\\"publisher\\\": \\\"zmq\\\"}\"}".getBytes(UTF_8)))
        .containsExactly(new SourceSpec(0, new ZmqAddress(ZmqAddress.ANY, 5557), null, ""));
    assertThat(configured("{'kv_events_config': '{}', 'dp_size': 1}")).isEmpty();
    assertThat(configured("{'kv_events_config': null, 'dp_size': 1}")).isEmpty();
  }

  private static List<Integer> ranks(String parallel) throws IOException {
    return configured(
            """
            {'vllm_config': {'parallel_config': %s,
              'kv_events_config': {'enable_kv_cache_events': true, 'publisher': 'zmq',
                'endpoint': 'tcp://*:5557'}}}\
            """
                .formatted(parallel))
        .stream()
        .peek(source -> assertThat(source.events().port()).isEqualTo(5557 + source.rank()))
        .map(SourceSpec::rank)
        .toList();
  }

  @Test
  void anEngineInALargerGroupHasOnlyItsOwnRanks() throws IOException {
    assertThat(
            ranks(
                """
                {'data_parallel_size': 4, 'data_parallel_rank': 2,
                 'data_parallel_external_lb': true}\
                """))
        .containsExactly(2);
    assertThat(
            ranks(
                """
                {'data_parallel_size': 8, 'data_parallel_size_local': 2, 'data_parallel_rank': 4,
                 'data_parallel_hybrid_lb': true}\
                """))
        .containsExactly(4, 5);
    assertThat(ranks("{'data_parallel_size': 2, 'data_parallel_size_local': 1}"))
        .as("one server for all")
        .containsExactly(0, 1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[{'endpoint': 'ipc://kv'}]",
        "nothing",
        "{'0': {'endpoint': 'ipc://kv'}}",
        "{'0': {'endpoint': 'tcp://*:0'}}",
        "{'0': {'endpoint': 'tcp://*:70000'}}",
        "{'0': {'endpoint': 'tcp://*:1', 'publisher': 'kafka'}}",
        "{'0': {'endpoint': 'tcp://*:1', 'encoding': 'json'}}",
        "{'0': {'endpoint': 'tcp://*:1', 'schema_version': 2}}",
        "{'sources': [{'endpoint': 'tcp://*:1'}, {'endpoint': 'tcp://*:2'}]}",
        "{'9999': {'endpoint': 'tcp://*:1'}}"
      })
  void unsupportedPublishersAreRefused(String json) {
    assertThatThrownBy(() -> sources(json)).isInstanceOf(IOException.class);
  }
}
