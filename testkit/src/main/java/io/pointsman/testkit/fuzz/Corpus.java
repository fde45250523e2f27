package io.pointsman.testkit.fuzz;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * The inputs that a fuzz target is known by: {@code src/test/corpus/NAME} of its module. A
 * coverage-guided fuzzer starts from them and adds to them ({@code it/fuzz}); every build runs them
 * and a fixed number of their mutations, the same ones each time.
 */
public final class Corpus {
  /** What is done with an input; throws if the code under test does wrong. */
  @FunctionalInterface
  public interface Target {
    void run(byte[] input);
  }

  private final List<byte[]> inputs;

  private Corpus(List<byte[]> inputs) {
    this.inputs = inputs;
  }

  /**
   * The inputs of one target, in the order of their file names.
   *
   * @throws IOException if they cannot be read; there must be one at least
   */
  public static Corpus of(String module, String name) throws IOException {
    Path root = Path.of(System.getProperty("pointsman.root", ".."));
    Path directory = root.resolve(module).resolve("src/test/corpus").resolve(name);
    List<byte[]> inputs = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.sorted().toList()) {
        inputs.add(Files.readAllBytes(file));
      }
    }
    if (inputs.isEmpty()) {
      throw new IOException(directory + ": empty (expected: at least one input)");
    }
    return new Corpus(inputs);
  }

  /** The inputs as they are. */
  public List<byte[]> inputs() {
    return List.copyOf(inputs);
  }

  /**
   * Runs the inputs, then {@code mutations} inputs made from them.
   *
   * @throws AssertionError if the target throws; the message holds the input
   */
  public void run(Target target, int mutations) {
    inputs.forEach(input -> run(target, input));
    SplittableRandom dice = new SplittableRandom(1);
    Mutator mutator = new Mutator(inputs, dice);
    for (int i = 0; i < mutations; i++) {
      run(target, mutator.next());
    }
  }

  private static void run(Target target, byte[] input) {
    try {
      target.run(input);
    } catch (Throwable e) {
      String text = new String(input, StandardCharsets.ISO_8859_1);
      throw new AssertionError("input: " + text + "\n" + e, e);
    }
  }
}
