package io.pointsman.tool.bench.picks;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.bench.BuiltRouter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/**
 * Runs {@code bench picks} briefly and checks that its results are complete. It does not check
 * times.
 */
@Timeout(300)
final class PicksTest {
  private final StringWriter said = new StringWriter();

  private int run(String... arguments) {
    PrintWriter out = new PrintWriter(said, true);
    return new CommandLine(new Picks(BuiltRouter.home(), BuiltRouter.command()))
        .setOut(out)
        .setErr(out)
        .execute(arguments);
  }

  @Test
  @Tag("full")
  void everyWayIsMeasuredAtEveryConcurrency() {
    int code =
        run(
            "--ways",
            "direct,proxy,decide,lease,route",
            "--concurrency",
            "1,3",
            "--reps",
            "1",
            "--seconds",
            "0.3",
            "--warmup",
            "0.1");

    assertThat(code).as(said.toString()).isZero();
    List<String> rows = said.toString().lines().filter(line -> line.matches(".* [0-9,]+")).toList();
    assertThat(rows).hasSize(10);
    assertThat(rows)
        .allMatch(row -> row.matches(".*\\s[13]\\s+[1-9][0-9,]*\\s+[0-9,]+\\s+[0-9,]+"));
  }

  @Test
  void anUnknownWayIsRejectedWithTheListOfWays() {
    assertThat(run("--ways", "proxi")).isEqualTo(2);
    assertThat(said.toString()).contains("--ways: proxi (expected: of direct, proxy, decide");
  }

  @Test
  void promptsHaveTheDocumentedShape() {
    List<String> chats = RayPrompts.chats("m");

    assertThat(chats).hasSize(4096).doesNotHaveDuplicates();
    assertThat(chats.stream().map(chat -> chat.substring(0, 800)).distinct()).hasSize(8);
    assertThat(chats).allMatch(chat -> chat.length() == chats.getFirst().length());
    assertThat(chats.getFirst().replaceAll("\"[a-z_]+\":|[^a-z ]", "").length())
        .isBetween(1024, 1100);
  }

  @Test
  void theMedianIsTheMiddleOrTheMeanOfTheTwoMiddleValues() {
    List<PickLoad.Result> runs =
        List.of(
            new PickLoad.Result(1, 0, 0),
            new PickLoad.Result(9, 0, 0),
            new PickLoad.Result(3, 0, 0));
    assertThat(Picks.median(runs, PickLoad.Result::perSecond)).isEqualTo(3);
    assertThat(Picks.median(runs.subList(0, 2), PickLoad.Result::perSecond)).isEqualTo(5);
  }
}
