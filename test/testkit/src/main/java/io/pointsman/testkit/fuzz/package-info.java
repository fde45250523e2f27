/** Fuzz inputs in the repository, and a short run over them. */
@NullMarked
package io.pointsman.testkit.fuzz;

import org.jspecify.annotations.NullMarked;
