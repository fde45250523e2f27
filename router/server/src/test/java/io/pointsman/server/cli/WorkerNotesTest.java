package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Test;

class WorkerNotesTest {
  private static List<String> notes(String yaml) {
    ConfigValues values = YamlConfig.parse("test", yaml);
    return WorkerNotes.of(values, PointsmanConfig.from(values));
  }

  @Test
  void aRouterWithoutWorkersSaysWhereTheyMayComeFrom() {
    assertThat(notes("policy: random\n")).singleElement().asString().contains("no workers");
    assertThat(notes("workers: [\"http://a:1\"]\n")).isEmpty();
  }

  @Test
  void aRepeatedWorkerAndASecondNameOfAnEngineAreNamed() {
    assertThat(notes("workers: [\"http://a:1\", \"http://a:1/\"]\n"))
        .containsExactly("worker a:1 appears twice; it is used once");
    assertThat(notes("workers: [\"http://a:1\", \"http://a:1/v1\"]\n"))
        .containsExactly("workers a:1 and a:1/v1 have the same engine");
  }

  @Test
  void theLoopbackHasSeveralNames() {
    String three = "http://127.0.0.1:1,http://127.0.0.1:1/v1,http://localhost:1,http://[::1]:1";
    assertThat(notes("workers: \"" + three + "\"\n"))
        .containsExactly(
            "workers 127.0.0.1:1 and 127.0.0.1:1/v1 have the same engine",
            "workers 127.0.0.1:1 and localhost:1 have the same engine",
            "workers 127.0.0.1:1 and [::1]:1 have the same engine");
    String ranks = "workers: [{url: \"http://localhost:1\", rank: 0}, \"http://127.0.0.1:1\"]\n";
    assertThat(notes(ranks))
        .containsExactly(
            "workers 127.0.0.1:1 and localhost:1@0 have the same engine, one without a rank");
  }

  @Test
  void namesOfOneEngineDifferInCaseOnly() {
    assertThat(notes("workers: \"http://Gpu:1/A,http://gpu:1/A\"\n"))
        .containsExactly("workers Gpu:1/A and gpu:1/A have the same engine");
    assertThat(
            notes(
                "workers: \"http://gpu:1/A,http://gpu:1/a,https://gpu:1/b,http://gpu:2/A,"
                    + "http://localhost.example:1,http://127.0.0.1:1\"\n"))
        .isEmpty();
  }

  @Test
  void anEngineWithAndWithoutARankIsNamed() {
    String ranks = "workers: [{url: \"http://a:1\", rank: 0}, {url: \"http://a:1\", rank: 1}]\n";
    assertThat(notes(ranks)).isEmpty();
    assertThat(notes(ranks.replace("]", ", {url: \"http://a:1\"}, \"http://b:1\"]")))
        .containsExactly(
            "workers a:1 and a:1@0 have the same engine, one without a rank",
            "workers a:1 and a:1@1 have the same engine, one without a rank");
  }

  @Test
  void aHostNameThatNobodyKnowsIsNamedOnceForEachWorker() {
    PointsmanConfig config =
        PointsmanConfig.from(
            YamlConfig.parse("test", "workers: [\"http://known:1\", \"http://typo:1/v1\"]\n"));
    assertThat(
            WorkerNotes.unknownHosts(
                config,
                host -> {
                  if (host.equals("typo")) {
                    throw new UnknownHostException(host);
                  }
                  return List.of(InetAddress.getLoopbackAddress());
                }))
        .singleElement()
        .asString()
        .startsWith("worker typo:1/v1: host name not known: typo");
  }
}
