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
 * The inputs of a fuzz target: {@code src/test/corpus/NAME} in its module. A coverage-guided fuzzer
 * starts from them and adds to them ({@code test/it/fuzz}). Every build runs them and a fixed
 * number of mutations, the same each time.
 */
public final class Corpus {
  /** The check of one input; throws if the code under test is wrong. */
  @FunctionalInterface
  public interface Target {
    void run(byte[] input);
  }

  private final List<byte[]> inputs;

  private Corpus(List<byte[]> inputs) {
    this.inputs = inputs;
  }

  /**
   * The inputs of one target, ordered by file name.
   *
   * @throws IOException if they cannot be read or there are none
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

  /** The unmodified inputs. */
  public List<byte[]> inputs() {
    return List.copyOf(inputs);
  }

  /**
   * Runs the inputs, then {@code mutations} mutations of them.
   *
   * @throws AssertionError if the target throws; the message contains the input
   */
  public void run(Target target, int mutations) {
    inputs.forEach(input -> run(target, input));
    SplittableRandom random = new SplittableRandom(1);
    Mutator mutator = new Mutator(inputs, random);
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
