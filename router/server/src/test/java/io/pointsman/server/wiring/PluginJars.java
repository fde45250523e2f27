package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** Compiles policies in the package com.example into jars of a plug-in directory. */
final class PluginJars {
  private PluginJars() {}

  static void write(Path directory, String name, String source) throws Exception {
    Path classes = Files.createDirectories(directory.resolve("classes"));
    Path file = Files.writeString(classes.resolve(name + ".java"), source);
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    String classPath = System.getProperty("java.class.path");
    String out = classes.toString();
    int code =
        compiler.run(null, null, null, "-proc:none", "-cp", classPath, "-d", out, file.toString());
    assertThat(code).isZero();
    try (OutputStream to = Files.newOutputStream(directory.resolve(name + ".jar"));
        JarOutputStream jar = new JarOutputStream(to)) {
      jar.putNextEntry(new JarEntry("com/example/" + name + ".class"));
      jar.write(Files.readAllBytes(classes.resolve("com/example/" + name + ".class")));
      jar.closeEntry();
    }
  }
}
