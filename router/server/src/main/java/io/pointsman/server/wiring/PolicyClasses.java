package io.pointsman.server.wiring;

import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Creates configured policies: a built-in one by name, or a user's class from the class path or
 * from jars in the plug-in directory.
 */
final class PolicyClasses {
  private final String directory;
  private final Deque<AutoCloseable> opened;

  /**
   * @param directory plug-in directory; empty: none
   * @param opened receives the resources to close
   */
  PolicyClasses(String directory, Deque<AutoCloseable> opened) {
    this.directory = directory;
    this.opened = opened;
  }

  /**
   * Creates a policy.
   *
   * @throws IllegalArgumentException if the name is unknown or the class cannot be used
   */
  PolicySetup create(String name, PolicyParts parts) {
    PolicySetup setup = name.contains(".") ? custom(name, parts) : Policies.create(name, parts);
    return Policies.withAffinity(setup, parts);
  }

  private PolicySetup custom(String name, PolicyParts parts) {
    Object made = make(type(name), parts);
    if (!(made instanceof Policy policy)) {
      throw unusable(name, "no " + Policy.class.getName(), null);
    }
    try {
      return new PolicySetup(
          policy, made instanceof Learner learner ? List.of(learner) : List.of());
    } catch (RuntimeException | LinkageError e) {
      throw unusable(name, e.toString(), e);
    }
  }

  private Class<?> type(String name) {
    try {
      return Class.forName(name, true, loader());
    } catch (ClassNotFoundException e) {
      String where = directory.isEmpty() ? "" : " or in a jar of " + directory;
      throw new IllegalArgumentException(
          "policy: " + name + ": no such class (expected: one on the class path" + where + ")", e);
    } catch (LinkageError e) {
      throw unusable(name, e.toString(), e);
    }
  }

  private ClassLoader loader() {
    ClassLoader own = PolicyClasses.class.getClassLoader();
    if (directory.isEmpty()) {
      return own;
    }
    List<URL> jars = new ArrayList<>();
    try (Stream<Path> files = Files.list(Path.of(directory))) {
      for (Path jar : files.filter(file -> file.toString().endsWith(".jar")).sorted().toList()) {
        jars.add(jar.toUri().toURL());
      }
    } catch (MalformedURLException e) {
      throw new IllegalStateException(e);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "plugins.directory: " + directory + " (expected: a directory that can be read)", e);
    }
    URLClassLoader loader = new URLClassLoader("plugins", jars.toArray(new URL[0]), own);
    opened.push(loader);
    return loader;
  }

  /** Uses the constructor with {@link PolicyParts}, otherwise the one without parameters. */
  private static Object make(Class<?> type, PolicyParts parts) {
    try {
      for (Constructor<?> constructor : type.getConstructors()) {
        if (constructor.getParameterCount() == 1
            && constructor.getParameterTypes()[0] == PolicyParts.class) {
          return constructor.newInstance(parts);
        }
      }
      return type.getConstructor().newInstance();
    } catch (NoSuchMethodException | InstantiationException | IllegalAccessException e) {
      throw unusable(
          type.getName(), "no public constructor with PolicyParts or without parameters", e);
    } catch (InvocationTargetException e) {
      throw unusable(type.getName(), String.valueOf(e.getCause()), e);
    } catch (LinkageError e) {
      throw unusable(type.getName(), e.toString(), e);
    }
  }

  private static IllegalArgumentException unusable(
      String name, String why, @Nullable Throwable cause) {
    return new IllegalArgumentException(
        "policy: " + name + ": " + why + " (expected: a public class that implements Policy)",
        cause);
  }
}
