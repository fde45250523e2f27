package io.pointsman.compat.rayserve;

import java.util.ArrayList;
import java.util.List;

/** Result of reading a file: problems, and notes on values without effect. */
final class RayReport {
  final List<String> problems = new ArrayList<>();
  final List<String> notes = new ArrayList<>();
}
