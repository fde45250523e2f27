package io.pointsman.tool.bench.proxies;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.bench.contender.PlaneContenders;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code ./pointsman bench proxies}: runs every contender under every workload, in alternation. */
@Command(
    name = "proxies",
    description = {
      "Run this router and others in front of the same fast backend, one after the other. Compare"
          + " rates, CPU time, delays and memory. Contenders that are not installed are listed and"
          + " skipped; tools/bench/setup installs them."
    },
    mixinStandardHelpOptions = true)
public final class Proxies implements Callable<Integer> {
  @Option(
      names = "--workloads",
      split = ",",
      paramLabel = "<name>",
      description = "Workloads, separated by commas; see --list. Default: all.")
  List<String> workloadNames = List.of();

  @Option(
      names = "--contenders",
      split = ",",
      paramLabel = "<name>",
      description =
          "Contenders, separated by commas; see --list. Default: all except the router with keys,"
              + " and proxies that ask the router for decisions.")
  List<String> contenderNames = List.of();

  @Option(
      names = "--sizes",
      split = ",",
      paramLabel = "<bytes>",
      description = "Send single POSTs of these sizes instead of the named workloads.")
  List<Integer> sizes = List.of();

  @Option(
      names = "--reps",
      defaultValue = "3",
      description = "Number of repetitions, each with all contenders. Default: ${DEFAULT-VALUE}.")
  int repetitions;

  @Option(
      names = "--seconds",
      defaultValue = "5",
      description = "Length of each measurement. Default: ${DEFAULT-VALUE}.")
  double seconds;

  @Option(
      names = "--warmup",
      defaultValue = "20",
      description =
          "Warm-up before each measurement, in seconds. On one saturated core, a JVM compiles for"
              + " 15 s. Default: ${DEFAULT-VALUE}.")
  double warmup;

  @Option(
      names = "--warmup-others",
      paramLabel = "<seconds>",
      description = "Warm-up of contenders without a JVM. Default: as --warmup.")
  @Nullable Double warmupOthers;

  @Option(
      names = "--out",
      paramLabel = "<directory>",
      description = "Directory for proxies.txt, .md, .csv and .svg. Default: no files.")
  @Nullable Path out;

  @Option(
      names = "--check",
      description =
          "Compare with the targets. Exit with 1 if a target is missed or cannot be judged, and"
              + " list each of them.")
  boolean check;

  @Option(names = "--list", description = "Show workloads and contenders and exit.")
  boolean list;

  @Spec @Nullable CommandSpec spec;

  private final Path home;
  private final List<Contender> known;
  private final List<Contender> further;

  public Proxies() {
    this(
        Contenders.home(),
        new Contenders(Contenders.home()).all(),
        Stream.concat(
                new Contenders(Contenders.home()).guarded().stream(),
                new PlaneContenders(Contenders.home()).all().stream())
            .toList());
  }

  /**
   * Creates the command.
   *
   * @param known contenders of a run that names none
   * @param further contenders that run only if named
   */
  Proxies(Path home, List<Contender> known, List<Contender> further) {
    this.home = home;
    this.known = known;
    this.further = further;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    PrintWriter console = spec().commandLine().getOut();
    List<Workload> workloads = workloads();
    List<Contender> nameable = Stream.concat(known.stream(), further.stream()).toList();
    List<Contender> chosen =
        chosen(
            contenderNames,
            contenderNames.isEmpty() ? known : nameable,
            Contender::name,
            "--contenders");
    if (list) {
      Workload.all().forEach(w -> console.printf("%-14s %s%n", w.name(), w.title()));
      console.println();
      nameable.forEach(c -> console.printf("%-24s %s %s%n", c.name(), c.version(), c.missing()));
      return 0;
    }
    List<Contender> contenders = new ArrayList<>();
    for (Contender contender : chosen) {
      if (contender.installed()) {
        contenders.add(contender);
      } else {
        console.printf("%s: left out, %s%n", contender.name(), contender.missing());
      }
    }
    NativeTools tools = NativeTools.build(home);
    Rig.Warmup warmups = new Rig.Warmup(duration(warmup), duration(warmupOfOthers()));
    Rig rig = new Rig(tools, warmups, duration(seconds), Machine.cores());
    ProxyReport report = new ProxyReport(header(contenders), workloads, contenders, new Results());
    report.header().forEach(console::println);
    console.println();
    for (Workload workload : workloads) {
      alternate(rig, workload, report, console);
      console.println(ResultTable.of(workload, contenders, report.results()).text());
      if (out != null) {
        report.write(out);
      }
    }
    console.print(report.legend());
    console.println();
    console.print(report.targets());
    console.flush();
    return check ? verdict(report, console) : 0;
  }

  /**
   * Runs the contenders in turn, A/B/C, A/B/C, because changes on the machine then affect all of
   * them.
   */
  private void alternate(Rig rig, Workload workload, ProxyReport report, PrintWriter console)
      throws InterruptedException {
    for (int repetition = 1; repetition <= repetitions; repetition++) {
      for (Contender contender : report.contenders()) {
        if (!Rig.applies(contender, workload) || onlyForStart(contender, workload)) {
          continue;
        }
        Measurement measurement = rig.measure(contender, workload, repetition);
        report.results().add(measurement);
        if (!measurement.valid()) {
          console.printf("%s, %s: %s%n", workload.name(), contender.name(), measurement.problem());
          console.flush();
        }
      }
    }
  }

  /**
   * True for the router variant that concerns only start times, unless the workload measures these.
   */
  private static boolean onlyForStart(Contender contender, Workload workload) {
    return contender.name().equals("pointsman-unshared")
        && workload.kind() != Workload.Kind.START_UP;
  }

  private static int verdict(ProxyReport report, PrintWriter console) {
    List<PerformanceTarget.TargetResult> outcomes = report.outcomes();
    List<PerformanceTarget.TargetResult> unmeasured =
        outcomes.stream()
            .filter(o -> o.verdict() == PerformanceTarget.Verdict.NOT_MEASURED)
            .toList();
    unmeasured.forEach(o -> console.printf("not measured: %s%n", o.target().row()));
    List<PerformanceTarget.TargetResult> failed =
        outcomes.stream().filter(o -> o.verdict().fails()).toList();
    failed.forEach(
        o ->
            console.printf(
                "%s: %s; %s%n",
                o.verdict().title().toUpperCase(Locale.ROOT), o.target().row(), o.text()));
    console.flush();
    return failed.isEmpty() && unmeasured.size() < outcomes.size() ? 0 : 1;
  }

  private List<Workload> workloads() throws IOException {
    List<Workload> chosen =
        new ArrayList<>(chosen(workloadNames, Workload.all(), Workload::name, "--workloads"));
    if (!sizes.isEmpty()) {
      chosen.clear();
      sizes.forEach(size -> chosen.add(Workload.unary(size)));
    }
    int possible = Machine.streamsPossible();
    chosen.replaceAll(w -> w.connections() > possible ? w.withConnections(possible) : w);
    return chosen;
  }

  private <T> List<T> chosen(
      List<String> names, List<T> all, Function<T, String> nameOf, String option) {
    List<String> existing = all.stream().map(nameOf).toList();
    for (String name : names) {
      if (!existing.contains(name)) {
        throw new ParameterException(
            spec().commandLine(),
            "%s: %s: unknown (expected: one of %s)"
                .formatted(option, name, String.join(", ", existing)));
      }
    }
    return all.stream()
        .filter(each -> names.isEmpty() || names.contains(nameOf.apply(each)))
        .sorted(Comparator.comparingInt(each -> existing.indexOf(nameOf.apply(each))))
        .toList();
  }

  private List<String> header(List<Contender> contenders) throws IOException {
    List<String> header = new ArrayList<>(Machine.description(home, contenders));
    String others = warmupOthers == null ? "" : " (without a JVM %s s)".formatted(warmupOthers);
    header.add(
        "%d repetitions of %s s after %s s of warm-up%s; medians"
            .formatted(repetitions, seconds, warmup, others));
    return header;
  }

  private double warmupOfOthers() {
    return warmupOthers == null ? warmup : warmupOthers;
  }

  private static Duration duration(double seconds) {
    return Duration.ofMillis(Math.round(seconds * 1000));
  }

  private CommandSpec spec() {
    if (spec == null) {
      throw new IllegalStateException("not run by a command line");
    }
    return spec;
  }
}
