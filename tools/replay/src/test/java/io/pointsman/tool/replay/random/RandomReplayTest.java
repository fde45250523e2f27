package io.pointsman.tool.replay.random;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.tool.replay.ReplayCommand;
import io.pointsman.tool.replay.peer.CostPart;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class RandomReplayTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int requests = 60;

  private int run(String... arguments) {
    CommandLine command = new CommandLine(new ReplayCommand(() -> 0));
    command.setOut(new PrintWriter(out));
    command.setErr(new PrintWriter(err));
    return command.execute(arguments);
  }

  private JsonNode json(String... arguments) throws Exception {
    out.getBuffer().setLength(0);
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of("--requests", "" + requests, "--json"));
    assertThat(run(all.toArray(String[]::new))).as(err.toString()).isZero();
    return new ObjectMapper().readTree(out.toString());
  }

  @Test
  void oneSeedPrintsEveryPolicyWithItsRatio() {
    assertThat(run("random:7", "--requests", "60")).as(err.toString()).isZero();
    assertThat(out.toString())
        .contains("random:7: ", "requests/s")
        .contains(RandomOptions.POLICIES)
        .containsPattern("cost +\\d")
        .containsPattern("greedy_price .* bound");
  }

  @Test
  void rowsComeInTheOrderOfSeedsWithASummary() {
    int code =
        run("random:1-6", "--requests", "50", "--policy", "cost,round_robin", "--threads", "2");

    assertThat(code).as(err.toString()).isZero();
    assertThat(out.toString().lines().skip(1).limit(6).map(line -> line.substring(0, 6).strip()))
        .containsExactly("1", "2", "3", "4", "5", "6");
    assertThat(out.toString()).contains("6 workloads", "ratio to round robin");
  }

  @Test
  void seedsAndRangesAreMixedInTheGivenOrder() {
    int code = run("random:21,3-4,1", "--requests", "50", "--policy", "cost,round_robin");

    assertThat(code).as(err.toString()).isZero();
    assertThat(out.toString().lines().skip(1).limit(4).map(line -> line.substring(0, 6).strip()))
        .containsExactly("21", "3", "4", "1");
    assertThat(out.toString()).contains("4 workloads");
  }

  @Test
  void sameCommandGivesTheSameObjects() throws Exception {
    JsonNode first = json("random:3-5", "--policy", "cost,least_load", "--threads", "2");
    JsonNode second = json("random:3-5", "--policy", "cost,least_load", "--threads", "1");

    assertThat(first).isEqualTo(second).hasSize(3);
    assertThat(first.get(0).get("subject").asText()).isEqualTo("cost");
    assertThat(first.get(0).get("mean").get("best").asText()).isEqualTo("least_load");
    assertThat(first.get(0).get("policies")).hasSize(2);
  }

  @Test
  void optionsReplaceDrawnValues() throws Exception {
    JsonNode row =
        json(
                "random:3",
                "--policy=kv_aware,round_robin",
                "--workers=2",
                "--engine=70b-tp8",
                "--load=0.4",
                "--kv-tokens=900000",
                "--block-size=128",
                "--capacity=10")
            .get(0);

    assertThat(row.get("subject").asText()).isEqualTo("kv_aware");
    assertThat(row.get("workers").asInt()).isEqualTo(2);
    assertThat(row.get("engine").asText()).isEqualTo("70b-tp8");
    assertThat(row.get("kv_tokens").asInt()).isEqualTo(900_000);
    assertThat(row.get("block_tokens").asInt()).isEqualTo(128);
    assertThat(row.get("rate").asDouble()).isEqualTo(4);
  }

  @Test
  void ablationHasARowForEachPart() {
    int code = run("random:1-2", "--requests", "40", "--ablate");

    assertThat(code).as(err.toString()).isZero();
    assertThat(out.toString().lines().skip(1).map(line -> line.substring(0, line.indexOf(' '))))
        .containsExactlyElementsOf(Stream.of(CostPart.values()).map(CostPart::policy).toList());
  }

  @Test
  void onePartCanBeLeftOut() throws Exception {
    JsonNode row = json("random:3", "--policy=cost,round_robin", "--without=ties").get(0);

    assertThat(row.get("subject").asText()).isEqualTo("cost-ties");
    assertThat(row.get("policies").get(1).get("policy").asText()).isEqualTo("round_robin");
  }

  /** The policies of a run with another mean than the first one. */
  private Set<String> changed(String... arguments) throws Exception {
    JsonNode policies = json(arguments).get(0).get("policies");
    Set<String> changed = new HashSet<>();
    for (JsonNode each : policies) {
      if (!each.get("ttft_mean_ms").equals(policies.get(0).get("ttft_mean_ms"))) {
        changed.add(each.get("policy").asText());
      }
    }
    return changed;
  }

  @Test
  void everyPartChangesTheResultOfSomeWorkload() throws Exception {
    requests = 200;
    Set<CostPart> same = EnumSet.allOf(CostPart.class);
    Set<String> changed =
        changed("random:21", "--load=1.2", "--workers=3", "--kv-tokens=100000", "--ablate");
    same.removeIf(part -> changed.contains(part.policy()));

    assertThat(same).containsExactly(CostPart.EMPTY_CACHES, CostPart.ROUNDING, CostPart.GUARD);
    assertThat(
            changed(
                "random:21",
                "--load=1",
                "--workers=4",
                "--engine=8b-no-cache",
                "--policy=cost,cost-empty-caches"))
        .isNotEmpty();
    assertThat(changed("random:1", "--load=1.2", "--policy=cost,cost-rounding")).isNotEmpty();
    // The fallback needs wrong predictions: CostGuardTest.
  }

  @Test
  void resultsOfOtherPoliciesAreReadFromTheReferenceFile(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("others.jsonl");
    String[] command = {"random:2", "--policy=cost,round_robin", "--reference=" + file};
    JsonNode first = json(command);
    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(2).noneMatch(line -> line.contains("\"cost\""));

    assertThat(json(command)).isEqualTo(first);
    assertThat(Files.readAllLines(file)).isEqualTo(lines);

    String changed = lines.get(1).replaceFirst("\"ttft_mean_ms\":[^,]+", "\"ttft_mean_ms\":12345");
    Files.write(file, List.of(lines.get(0), changed));
    assertThat(json(command).get(0).get("mean").get("best_ms").asDouble()).isEqualTo(12345);

    json("random:2", "--policy=cost,round_robin", "--reference=" + file, "--workers=5");
    assertThat(Files.readAllLines(file)).as("another fleet is another result").hasSize(4);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "random:|trace: random: (expected: random:SEED, random:FROM-TO, or several",
        "random:5-1|trace: random:5-1 (expected: random:SEED, random:FROM-TO, or several",
        "random:3,,5|trace: random:3,,5 (expected: random:SEED",
        "random:3,|trace: random:3, (expected: random:SEED",
        "random:1,5-4|trace: random:1,5-4 (expected: random:SEED",
        "random:1-4,3|trace: random:1-4,3: seed 3 occurs twice (expected: each seed once)",
        "random:5,1-1000000|trace: random:5,1-1000000 (expected: random:SEED",
        "random:x|trace: random:x (expected: random:SEED",
        "random:1 --engine 9b|engine: 9b (expected: one of 8b, 70b-tp8",
        "random:1 --block-size 0|block-size: 0 (expected: 1 to 4096)",
        "random:1 --block-size 48|block-size: 48 (expected: a divisor or a multiple of",
        "random:1 --threads 0|threads: 0 (expected: 1 to 1024)",
        "random:1 --load 0.5,0.8|load: [0.5, 0.8] (expected: one for random workloads)",
        "random:1 --plot x.svg|plot: random:1 (expected: a single trace)",
        "random:1 --policy best|policy: best (expected: one of",
        "random:1 --workers 0|workers: 0 (expected: 1 to 16384)",
        "best-of-n --threads 2|reference, threads, ablate: set (expected: only with random:",
        "best-of-n --ablate|reference, threads, ablate: set (expected: only with random:",
        "random:1 --ablate --policy cost|ablate: set (expected: neither --policy nor --without",
        "random:1 --without tie|without: tie (expected: one of deferral, waiting-price,",
        "random:1 --without ties --policy random|without: ties (expected: the policy cost among",
      })
  void wrongInputIsRefused(String arguments, String message) {
    assertThat(run(arguments.split(" "))).isEqualTo(2);
    assertThat(err.toString()).contains(message);
  }

  @Test
  void brokenReferenceFileIsRefusedWithItsLine(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("others.jsonl");
    Files.writeString(file, "{}\n");

    assertThat(run("random:1", "--reference", file.toString())).isEqualTo(2);
    assertThat(err.toString()).contains("reference: " + file + ":1 (expected: a stored result)");
  }
}
