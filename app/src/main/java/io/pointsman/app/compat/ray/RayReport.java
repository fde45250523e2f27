package io.pointsman.app.compat.ray;

import java.util.ArrayList;
import java.util.List;

/** What is told of a file: what is wrong with it, and what of it has no effect here. */
final class RayReport {
  final List<String> problems = new ArrayList<>();
  final List<String> notes = new ArrayList<>();
}
