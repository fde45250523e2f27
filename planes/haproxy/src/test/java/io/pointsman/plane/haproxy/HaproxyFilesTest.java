package io.pointsman.plane.haproxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.reply.AnthropicErrors;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HaproxyFilesTest {
  private static final HaproxySettings SETTINGS =
      HaproxySettings.of(
          InetSocketAddress.createUnresolved("127.0.0.1", 0),
          URI.create("http://127.0.0.1:1"),
          InetSocketAddress.createUnresolved("127.0.0.1", 4));

  private static final Pattern CONDITION = Pattern.compile("\\.if streq\\(([^,]*),([^)]*)\\)");

  private static String written(HaproxySettings settings) throws IOException {
    StringBuilder text = new StringBuilder();
    try (HaproxyFiles files = HaproxyFiles.write(settings, 2, 3)) {
      Path directory = Path.of(files.configuration()).getParent();
      try (Stream<Path> all = Files.walk(directory)) {
        for (Path file : all.filter(Files::isRegularFile).toList()) {
          text.append(Files.readString(file));
        }
      }
    }
    return text.toString();
  }

  @Test
  void everyPlaceholderIsReplaced() throws IOException {
    assertThat(written(SETTINGS)).doesNotContainPattern("@[A-Z_]+@");
  }

  /** HAProxy refuses longer lines. */
  @Test
  void noLineHasMoreThan64Words() throws IOException {
    assertThat(heeded(SETTINGS)).allMatch(line -> line.split("\\s+").length <= 64);
    assertThat(heeded(SETTINGS))
        .filteredOn(line -> line.startsWith("acl control "))
        .anyMatch(line -> line.contains(" /sleep "))
        .anyMatch(line -> line.endsWith(" /slow_down") || line.contains(" /slow_down "))
        .anyMatch(line -> line.contains(" -m beg ") && line.contains(" /metrics"));
  }

  /** The configuration lines that HAProxy applies, before HAProxy 3.1. */
  private static List<String> heeded(HaproxySettings settings) throws IOException {
    List<String> heeded = new ArrayList<>();
    Deque<Boolean> within = new ArrayDeque<>();
    try (HaproxyFiles files = HaproxyFiles.write(settings, 2, 3)) {
      for (String line : Files.readAllLines(Path.of(files.configuration()))) {
        Matcher condition = CONDITION.matcher(line);
        if (condition.matches()) {
          within.push(condition.group(1).equals(condition.group(2)));
        } else if (line.equals(".if version_atleast(3.1)")) {
          within.push(false);
        } else if (line.equals(".else")) {
          within.push(!within.pop());
        } else if (line.equals(".endif")) {
          within.pop();
        } else if (!within.contains(false)) {
          heeded.add(line.strip());
        }
      }
    }
    assertThat(within).isEmpty();
    return heeded;
  }

  @Test
  void nothingPassesWithoutTheConsentOfAGuardedRouter() throws IOException {
    List<String> guarded = heeded(SETTINGS.withApiKey("key"));

    assertThat(guarded)
        .anyMatch(line -> line.startsWith("http-request send-spoe-group"))
        .anyMatch(
            line ->
                line.startsWith("http-request return status 503")
                    && line.contains("router_unavailable")
                    && line.endsWith(
                        "unless { var(txn.pm.worker) -m found } ||"
                            + " { var(txn.pm.unplaced) -m found }"));
    assertThat(heeded(SETTINGS)).noneMatch(line -> line.contains("router_unavailable"));
  }

  @Test
  void eachRefusalOfTheRouterEndsTheRequest() throws IOException {
    List<String> heeded = heeded(SETTINGS);

    for (int status : SpoeAnswers.REFUSALS) {
      assertThat(heeded)
          .anyMatch(
              line ->
                  line.startsWith("http-request return status " + status + " ")
                      && line.endsWith(" if { var(txn.pm.status) -m int " + status + " }"));
    }
    assertThat(heeded)
        .anyMatch(
            line ->
                line.startsWith("http-request return status 503 ")
                    && line.endsWith(" if { var(txn.pm.status) -m found }"));
  }

  /** HAProxy has one error page for a status, the same for all paths. */
  @Test
  void eachPageOfHaproxyHasATextForEachApi() throws IOException {
    List<String> heeded = heeded(SETTINGS.withApiKey("key"));

    for (String page : List.of("none", "broken", "late")) {
      assertThat(heeded)
          .filteredOn(line -> line.startsWith("http-request set-var-fmt(txn.pm." + page + ")"))
          .hasSize(2)
          .anyMatch(line -> line.contains("{\"error\":") && line.endsWith(" unless messages"))
          .anyMatch(line -> line.contains("{\"type\":\"error\",") && line.endsWith(" if messages"));
    }
    assertThat(heeded)
        .anyMatch(
            line ->
                line.startsWith("http-request return status 503")
                    && line.contains("overloaded_error")
                    && line.endsWith(
                        " if messages !{ var(txn.pm.worker) -m found }"
                            + " !{ var(txn.pm.unplaced) -m found }"));
  }

  private static String nginxScript() throws IOException {
    return Files.readString(
        Path.of(System.getProperty("pointsman.root", "../.."), "planes", "nginx", "pointsman.lua"));
  }

  /** nginx's file is written by hand. */
  @Test
  void nginxHasTheSameRefusals() throws IOException {
    String script = nginxScript();
    String table =
        script.substring(script.indexOf("local REFUSALS"), script.indexOf("local NOT_FORWARDED"));

    assertThat(Pattern.compile("\\[(\\d+)] = true").matcher(table).results())
        .extracting(each -> Integer.valueOf(each.group(1)))
        .containsExactlyInAnyOrderElementsOf(SpoeAnswers.REFUSALS);
  }

  /** nginx refuses requests itself, in the form that the built-in proxy would give them. */
  @Test
  void nginxHasTheSameTypesOfAnthropicsErrors() throws IOException {
    String script = nginxScript();
    String table =
        script.substring(script.indexOf("local TYPES"), script.indexOf("-- An error in"));
    Map<Integer, String> types = new HashMap<>();
    Pattern.compile("\\[(\\d+)] = \"(\\w+)\"")
        .matcher(table)
        .results()
        .forEach(each -> types.put(Integer.valueOf(each.group(1)), each.group(2)));

    for (int status = 400; status < 600; status++) {
      String other = status < 500 ? "invalid_request_error" : "api_error";
      assertThat(AnthropicErrors.json(status, ""))
          .contains("{\"type\":\"" + types.getOrDefault(status, other) + "\"");
    }
  }

  @Test
  void anUnreachableRouterGetsNoSpoeMessages() throws IOException {
    List<String> heeded = heeded(SETTINGS);

    assertThat(heeded)
        .filteredOn(line -> line.contains("uuid()"))
        .singleElement()
        .asString()
        .endsWith("if asked { nbsrv(router) gt 0 }");
    assertThat(heeded)
        .filteredOn(line -> line.startsWith("http-request send-spoe-group"))
        .singleElement()
        .asString()
        .endsWith("if { var(txn.pm.lease) -m found }");
  }

  @Test
  void noFileContainsAKey() throws IOException {
    String text = written(SETTINGS.withApiKey("for-the-router").withEngineKey("for-engines"));

    assertThat(text).doesNotContain("for-the-router", "for-engines");
    assertThat(text).contains("streq(yes,yes)\n  # As the built-in proxy does");
    assertThat(written(SETTINGS)).contains("streq(no,yes)\n  # As the built-in proxy does");
  }

  @Test
  void settingsArePrintedWithoutKeys() {
    assertThat(SETTINGS.withApiKey("for-the-router").withEngineKey("for-engines").toString())
        .doesNotContain(List.of("for-the-router", "for-engines"));
  }
}
