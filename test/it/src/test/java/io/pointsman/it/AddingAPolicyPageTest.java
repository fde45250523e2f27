package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;

/**
 * Follows docs/dev/adding-a-policy.md: writes the page's class and the page's line into a copy of
 * the sources, compiles both, runs the contract tests that the page names, and the page's command.
 */
@Timeout(120)
final class AddingAPolicyPageTest {
  private static final Path ROOT = Path.of(System.getProperty("pointsman.root", ".."));
  private static final Pattern FILE = Pattern.compile("(?m)^`(core/\\S+\\.java)`:$");
  private static final Pattern CODE = Pattern.compile("(?ms)^```java\\n(.*?)^```");
  private static final Pattern COMMAND =
      Pattern.compile("(?m)^\\./pointsman serve --policy (\\S+) --workers \\S+$");
  private static final Pattern CLASS = Pattern.compile("final class (\\w+)");
  private static final Pattern PACKAGE = Pattern.compile("(?m)^package (\\S+);$");
  private static final String POLICIES =
      "core/engine/src/main/java/io/pointsman/engine/policy/catalog/Policies.java";
  private static final Path TESTS = ROOT.resolve("core/engine/src/test/java");
  private static final List<String> CONTRACT =
      List.of(
          "io.pointsman.engine.policy.catalog.PolicyContractTest",
          "io.pointsman.engine.policy.catalog.PoliciesTest");
  private static final String TABLE = "Map.ofEntries(\n";
  private static final String CHAT =
      "{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

  @TempDir Path directory;
  private String page = "";

  @BeforeEach
  void readPage() throws IOException {
    page = Files.readString(ROOT.resolve("docs/dev/adding-a-policy.md"));
  }

  private String only(Pattern pattern) {
    List<MatchResult> found = pattern.matcher(page).results().toList();
    assertThat(found).as(pattern.pattern()).hasSize(1);
    return found.getFirst().group(1);
  }

  private static String first(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    assertThat(matcher.find()).as(pattern.pattern()).isTrue();
    return matcher.group(1);
  }

  private List<String> code() {
    return CODE.matcher(page).results().map(block -> block.group(1)).toList();
  }

  private String write(String path, String source) throws IOException {
    Path file = directory.resolve(path);
    Files.createDirectories(file.getParent());
    return Files.writeString(file, source).toString();
  }

  /** The table of policies with the page's line and the import that it needs. */
  private String policies(String policy, String line) throws IOException {
    String table = Files.readString(ROOT.resolve(POLICIES));
    assertThat(table).contains(TABLE);
    String type = first(PACKAGE, policy) + "." + first(CLASS, policy);
    return table
        .replace(TABLE, TABLE + line)
        .replaceFirst("\nimport ", "\nimport " + type + ";\nimport ");
  }

  /** The class directory of the page's code. */
  private Path compiled() throws IOException {
    List<String> code = code();
    assertThat(code).as("the class and the line").hasSize(2);
    String policy = code.get(0);
    Path classes = Files.createDirectories(directory.resolve("classes"));
    compile(
        classes,
        List.of(write(only(FILE), policy), write(POLICIES, policies(policy, code.get(1)))));
    return classes;
  }

  /**
   * Compiles the files into {@code classes}. This directory precedes others, as in the later run.
   */
  private static void compile(Path classes, List<String> files) {
    String path = classes + File.pathSeparator + System.getProperty("java.class.path");
    List<String> options =
        List.of("-proc:none", "-cp", path, "-sourcepath", "" + TESTS, "-d", "" + classes);
    String[] arguments = Stream.of(options, files).flatMap(List::stream).toArray(String[]::new);
    assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments)).isZero();
  }

  @Test
  void thePolicyOfThePageFulfilsTheContract() throws Exception {
    String name = only(COMMAND);
    Path classes = compiled();
    compile(classes, CONTRACT.stream().map(AddingAPolicyPageTest::source).toList());
    Path output = directory.resolve("contract.out");
    Process run =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                classes + File.pathSeparator + System.getProperty("java.class.path"),
                ContractRun.class.getName(),
                name)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();

    try {
      int status = run.waitFor();
      assertThat(status).as("%s", Files.readString(output)).isZero();
    } finally {
      run.destroyForcibly();
    }
    assertThat(Files.readString(output))
        .contains("requestsWithoutKeyAreSpread", "newKeysAreSpread", "eachNameIsTheStemOfItsClass");
  }

  private static String source(String type) {
    return TESTS.resolve(type.replace('.', '/') + ".java").toString();
  }

  /** A process that runs the contract tests for one policy, with the classes of the page. */
  static final class ContractRun {
    private ContractRun() {}

    /**
     * @param args the name of the policy
     */
    public static void main(String[] args) throws ReflectiveOperationException {
      for (String type : CONTRACT) {
        Class<?> tests = Class.forName(type);
        for (Method test : tests.getDeclaredMethods()) {
          boolean eachName = test.isAnnotationPresent(ParameterizedTest.class);
          if (eachName || test.isAnnotationPresent(Test.class)) {
            Constructor<?> fresh = tests.getDeclaredConstructor();
            fresh.setAccessible(true);
            test.setAccessible(true);
            Object[] of = eachName ? new Object[] {args[0]} : new Object[0];
            test.invoke(fresh.newInstance(), of);
            System.out.println(test.getName());
          }
        }
      }
    }
  }

  @Test
  void thePolicyOfThePageServesRequests() throws Exception {
    String name = only(COMMAND);
    try (SimEngine first = SimEngine.start(SimConfig.instant().withModels("m"));
        SimEngine second = SimEngine.start(SimConfig.instant().withModels("m"));
        RouterProcess router =
            RouterProcess.startWith(
                compiled(), "--policy", name, "--workers", first.url() + "," + second.url())) {
      for (int i = 0; i < 4; i++) {
        HttpAnswer answer = RawClient.call(router.port(), "POST", "/v1/chat/completions", CHAT);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      }

      assertThat(
              router.metric(
                  "pointsman_policy_decisions_total{policy=\"" + name + "\",reason=\"random\"}"))
          .isEqualTo(4);
    }
  }
}
