package io.pointsman.tool.replay.random.draw;

import io.pointsman.tool.sim.schedule.ServiceProfile;
import io.pointsman.tool.sim.schedule.ServiceProfiles;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * The drawn properties of one workload, except for its requests.
 *
 * @param seed the seed
 * @param parts families of its requests: one, or two of a mixture
 * @param closed true if turns wait for the end of the previous response
 * @param kvTokens KV memory of each worker
 * @param load relative to round robin's capacity
 * @param engine kind of the engines
 * @param blockTokens tokens per block of an engine
 * @param trouble parameters of the disturbance
 */
public record Draw(
    long seed,
    Family family,
    List<Part> parts,
    boolean closed,
    ArrivalProcess arrivals,
    int workers,
    int kvTokens,
    double load,
    ServiceProfile engine,
    int blockTokens,
    Disturbance disturbance,
    Trouble trouble) {
  static final int LONGEST_PROMPT = 100_000;
  static final int MOST_KV = 1_600_000;

  /** Minimum KV memory for the family of all scales, which has room for long prompts. */
  private static final int KV_OF_SCALES = 200_000;

  private static final List<Family> OF_MIXTURES =
      List.of(
          Family.INDEPENDENT,
          Family.SYSTEM,
          Family.TURNS,
          Family.TOOLS,
          Family.DOCUMENTS,
          Family.SIBLINGS,
          Family.TREE,
          Family.POOLING);

  /**
   * One family of requests.
   *
   * @param input mean length of a prompt
   * @param output mean length of a response
   * @param inputSpread standard deviation of the logarithm of a prompt's length
   * @param outputSpread the same of a response's length
   */
  record Part(Family family, int input, int output, double inputSpread, double outputSpread) {}

  /**
   * Parameters of disturbances; those of other disturbances are unused.
   *
   * @param worker the one that is slow or fails
   * @param slowness factor of the usual step time
   * @param lostAt share of the run after which it fails
   * @param backAt share of the run after which it returns
   * @param leaving share of the clients that leave
   * @param patienceMillis mean time after which they leave
   */
  record Trouble(
      int worker,
      double slowness,
      double lostAt,
      double backAt,
      double leaving,
      double patienceMillis) {}

  public Draw {
    parts = List.copyOf(parts);
  }

  /** Draws the workload of this seed. */
  public static Draw of(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Family family = Draws.one(random, List.of(Family.values()));
    List<Part> parts = parts(family, random.split());
    boolean closed = random.nextBoolean();
    ArrivalProcess arrivals =
        Draws.one(
            random,
            List.of(
                ArrivalProcess.POISSON,
                ArrivalProcess.POISSON,
                ArrivalProcess.BURSTS,
                ArrivalProcess.WAVES));
    int workers = Draws.one(random, 2, 2, 3, 4, 8, 16, 32, 64);
    int kvTokens = kvTokens(family, parts, random);
    double load = Draws.one(random, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.1, 1.2);
    ServiceProfile engine = engine(random);
    int blockTokens = blockTokens(family, parts, random);
    boolean calm = random.nextBoolean();
    Disturbance one = Draws.one(random, List.of(Disturbance.values()).subList(1, 5));
    return new Draw(
        seed,
        family,
        parts,
        closed,
        arrivals,
        workers,
        kvTokens,
        load,
        engine,
        blockTokens,
        calm ? Disturbance.NONE : one,
        trouble(workers, random.split()));
  }

  private static List<Part> parts(Family family, SplittableRandom random) {
    if (family != Family.MIXTURE) {
      return List.of(part(family, random));
    }
    List<Family> families = new ArrayList<>(OF_MIXTURES);
    Family first = families.remove(random.nextInt(families.size()));
    return List.of(part(first, random), part(Draws.one(random, families), random));
  }

  private static Part part(Family family, SplittableRandom random) {
    int input = Draws.one(random, 120, 400, 900, 2500, 6000, 15_000, 40_000);
    int output = Draws.one(random, 1, 4, 12, 60, 250, 900, 1500);
    double inputSpread = Draws.one(random, 0.2, 0.6, 1.0);
    double outputSpread = Draws.one(random, 0.2, 0.6, 1.0);
    if (family == Family.POOLING) {
      return new Part(family, Math.min(input, 6000), random.nextInt(2), inputSpread, 0);
    }
    return new Part(family, input, output, inputSpread, outputSpread);
  }

  /** Leaves room for several of the longer requests. */
  private static int kvTokens(Family family, List<Part> parts, SplittableRandom random) {
    int least = family == Family.SCALES ? KV_OF_SCALES : 0;
    for (Part part : parts) {
      least = Math.max(least, 18 * (part.input + part.output));
    }
    int drawn = Draws.one(random, 60_000, 200_000, 400_000, MOST_KV);
    return Math.min(Math.max(drawn, least), MOST_KV);
  }

  private static ServiceProfile engine(SplittableRandom random) {
    List<ServiceProfile> all = ServiceProfiles.all();
    boolean usual = random.nextDouble() < 0.4;
    ServiceProfile other = all.get(1 + random.nextInt(all.size() - 1));
    return usual ? ServiceProfiles.DEFAULT : other;
  }

  /** Uses small blocks only for prompts that are not long, so a run takes seconds. */
  private static int blockTokens(Family family, List<Part> parts, SplittableRandom random) {
    boolean longPrompts = family == Family.SCALES;
    for (Part part : parts) {
      longPrompts |= part.input > 6000;
    }
    int drawn = Draws.one(random, 16, 64, 64, 128);
    return longPrompts && drawn == 16 ? 64 : drawn;
  }

  private static Trouble trouble(int workers, SplittableRandom random) {
    double lostAt = 0.2 + 0.3 * random.nextDouble();
    return new Trouble(
        random.nextInt(workers),
        Draws.one(random, 1.5, 2.0, 3.0),
        lostAt,
        lostAt + 0.05 + 0.25 * random.nextDouble(),
        Draws.one(random, 0.05, 0.15, 0.3),
        Draws.one(random, 500.0, 2000.0, 8000.0));
  }

  /** Lengths of a part, limited to the KV memory. */
  TokenLengths lengths(Part part) {
    int fitting = kvTokens * 2 / 3 - TokenLengths.LONGEST_ANSWER;
    return new TokenLengths(
        part.input,
        part.output,
        part.inputSpread,
        part.outputSpread,
        Math.min(LONGEST_PROMPT, fitting));
  }

  /** Describes families, lengths, arrivals and disturbance in a few words. */
  public String describe() {
    StringBuilder text = new StringBuilder();
    for (Part part : parts) {
      text.append(text.isEmpty() ? "" : " + ");
      text.append(family == Family.MIXTURE ? part.family.label() + " " : "");
      text.append(
          part.family == Family.SCALES
              ? "100-100000 in, 1-1000 out"
              : part.input + " in, " + part.output + " out");
    }
    text.append(", ").append(arrivals.label());
    boolean turns =
        parts.stream()
            .anyMatch(p -> p.family.equals(Family.TURNS) || p.family.equals(Family.TOOLS));
    text.append(turns && closed ? ", closed" : "");
    return text.append(disturbed()).toString();
  }

  private String disturbed() {
    return switch (disturbance) {
      case NONE -> "";
      case SLOW -> ", one worker slow x" + trouble.slowness;
      case LOST -> ", one worker lost and back";
      case DOUBLED -> ", load doubles and prompts change";
      case LEAVING ->
          String.format(
              Locale.ROOT,
              ", %.0f %% of clients leave after %.1f s",
              trouble.leaving * 100,
              trouble.patienceMillis / 1000);
    };
  }
}
