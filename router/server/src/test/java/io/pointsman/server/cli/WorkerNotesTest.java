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
