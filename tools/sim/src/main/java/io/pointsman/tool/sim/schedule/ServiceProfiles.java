package io.pointsman.tool.sim.schedule;

import java.util.List;

/**
 * The kinds of engines by name. {@code docs/simulator.md} derives the values. They are estimates,
 * except for those of {@code 8b}, which are fitted to measurements.
 */
public final class ServiceProfiles {
  /** A model of 8 billion parameters on an 80 GB card. */
  public static final ServiceProfile DEFAULT =
      small("8b", "8 B model on one 80 GB card", StepRules.DEFAULT, 8192);

  private static final StepRules WHOLE_PROMPTS = new StepRules(false, true, 1, 0);
  private static final StepRules NO_CACHE = new StepRules(true, false, 1, 0);
  private static final StepRules FRONT_END = new StepRules(true, true, 1, 15);
  private static final StepRules SPECULATIVE = new StepRules(true, true, 2.5, 0);

  private static final List<ServiceProfile> ALL =
      List.of(
          DEFAULT,
          new ServiceProfile(
              "70b-tp8",
              "70 B model on eight 80 GB cards",
              new CardLatency(0.33, 34, 20, 10, 17.5, 20),
              StepRules.DEFAULT,
              8192,
              256,
              1_440_000),
          new ServiceProfile(
              "1b-small",
              "1 B model on one 24 GB card",
              new CardLatency(1.36, 41, 5, 12.4, 156, 20),
              StepRules.DEFAULT,
              8192,
              256,
              550_000),
          small("8b-unchunked", "8 B model, prompts not in chunks", WHOLE_PROMPTS, 16_384),
          small("8b-step-2048", "8 B model, steps of 2,048 tokens", StepRules.DEFAULT, 2048),
          small("8b-no-cache", "8 B model, prefix cache off", NO_CACHE, 8192),
          new ServiceProfile(
              "8b-speculative",
              "8 B model, three tokens drafted a step",
              new DraftedLatency(new StepLatency(), 1.2, 50),
              SPECULATIVE,
              8192,
              256,
              400_000),
          new ServiceProfile(
              "8b-uneven",
              "8 B model, uneven step times, slow front end",
              new UnevenLatency(new StepLatency(), 0.3, 0.02, 6),
              FRONT_END,
              8192,
              256,
              400_000));

  private ServiceProfiles() {}

  /** All profiles, the default first. */
  public static List<ServiceProfile> all() {
    return ALL;
  }

  /** Names of all profiles, the default first. */
  public static List<String> names() {
    return ALL.stream().map(ServiceProfile::name).toList();
  }

  /**
   * Returns the profile of this name.
   *
   * @param option that contains it, for the message
   * @throws IllegalArgumentException if there is none
   */
  public static ServiceProfile of(String option, String name) {
    for (ServiceProfile profile : ALL) {
      if (profile.name().equals(name)) {
        return profile;
      }
    }
    throw new IllegalArgumentException(
        option + ": " + name + " (expected: one of " + String.join(", ", names()) + ")");
  }

  private static ServiceProfile small(
      String name, String description, StepRules rules, int stepTokens) {
    return new ServiceProfile(
        name, description, new StepLatency(), rules, stepTokens, 256, 400_000);
  }
}
