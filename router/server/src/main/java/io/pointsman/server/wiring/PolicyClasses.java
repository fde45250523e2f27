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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates configured policies: a built-in one by name, or a user's class from the class path or
 * from jars in the plug-in directory. The same jars have one class loader; changed jars get another
 * one when policies are created again. Thread-safe.
 */
final class PolicyClasses implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PolicyClasses.class);

  /**
   * Maximum number of loaders beside the one in force. Requests in progress may need classes of
   * earlier policies.
   */
  static final int MOST_EARLIER = 4;

  /** A loader of the jars of a directory. */
  private static final class Loaded {
    private final String directory;

    /** Names, sizes and times of the jars. */
    private final String jars;

    private final URLClassLoader loader;

    /** Number of configurations in force with its classes. */
    private int holders;

    Loaded(String directory, String jars, URLClassLoader loader) {
      this.directory = directory;
      this.jars = jars;
      this.loader = loader;
    }
  }

  /** In the order of their last use for new policies. Guarded by this, as the holders are. */
  private final Deque<Loaded> loaded = new ArrayDeque<>();

  /** The policies of one configuration. All have the classes of the jars of its first policy. */
  final class Of {
    private final String directory;

    /** Null before the first policy from a jar. Guarded by the outer object. */
    private @Nullable Loaded own;

    private Of(String directory) {
      this.directory = directory;
    }

    /** Keeps its classes until {@link #release}, because its policies are in force. */
    void hold() {
      count(own(), 1);
    }

    /** Ends a {@link #hold}. Its classes stay for some changes more. */
    void release() {
      count(own(), -1);
    }

    private @Nullable Loaded own() {
      synchronized (PolicyClasses.this) {
        return own;
      }
    }

    private ClassLoader loader() {
      synchronized (PolicyClasses.this) {
        Loaded present = own;
        if (present == null && !directory.isEmpty()) {
          present = load(directory);
          own = present;
        }
        return present == null ? PolicyClasses.class.getClassLoader() : present.loader;
      }
    }

    /**
     * Creates a policy.
     *
     * @throws IllegalArgumentException if the name is unknown or the class cannot be used
     */
    PolicySetup create(String name, PolicyParts parts) {
      PolicySetup setup =
          name.contains(".") ? custom(this, name, parts) : Policies.create(name, parts);
      return Policies.withAffinity(setup, parts);
    }
  }

  /**
   * The policies of a configuration.
   *
   * @param directory plug-in directory; empty: none
   */
  Of of(String directory) {
    return new Of(directory);
  }

  private synchronized void count(@Nullable Loaded of, int by) {
    if (of != null) {
      of.holders += by;
    }
  }

  /** Number of open loaders. */
  synchronized int open() {
    return loaded.size();
  }

  @Override
  public synchronized void close() throws IOException {
    for (Loaded each : loaded) {
      each.loader.close();
    }
    loaded.clear();
  }

  private static PolicySetup custom(Of by, String name, PolicyParts parts) {
    Object made = make(type(by, name), parts);
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

  private static Class<?> type(Of by, String name) {
    try {
      return Class.forName(name, true, by.loader());
    } catch (ClassNotFoundException e) {
      String where = by.directory.isEmpty() ? "" : " or in a jar of " + by.directory;
      throw new IllegalArgumentException(
          "policy: " + name + ": no such class (expected: one on the class path" + where + ")", e);
    } catch (LinkageError e) {
      throw unusable(name, e.toString(), e);
    }
  }

  private synchronized Loaded load(String directory) {
    List<URL> urls = new ArrayList<>();
    StringBuilder jars = new StringBuilder();
    try (Stream<Path> files = Files.list(Path.of(directory))) {
      for (Path jar : files.filter(file -> file.toString().endsWith(".jar")).sorted().toList()) {
        urls.add(jar.toUri().toURL());
        jars.append(jar).append(' ').append(Files.size(jar)).append(' ');
        jars.append(Files.getLastModifiedTime(jar)).append('\n');
      }
    } catch (MalformedURLException e) {
      throw new IllegalStateException(e);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "plugins.directory: " + directory + " (expected: a directory that can be read)", e);
    }
    String key = jars.toString();
    Loaded found = null;
    for (Loaded each : loaded) {
      if (each.directory.equals(directory) && each.jars.equals(key)) {
        found = each;
      }
    }
    if (found == null) {
      ClassLoader parent = PolicyClasses.class.getClassLoader();
      URLClassLoader loader = new URLClassLoader("plugins", urls.toArray(new URL[0]), parent);
      found = new Loaded(directory, key, loader);
    } else {
      loaded.remove(found);
    }
    loaded.add(found);
    closeOldest(found);
    return found;
  }

  private synchronized void closeOldest(Loaded newest) {
    Iterator<Loaded> oldest = loaded.iterator();
    while (loaded.size() > MOST_EARLIER + 1 && oldest.hasNext()) {
      Loaded each = oldest.next();
      if (each.holders == 0 && !each.equals(newest)) {
        oldest.remove();
        try {
          each.loader.close();
        } catch (IOException e) {
          log.warn("a jar of {} is not closed: {}", each.directory, e.toString());
        }
      }
    }
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
