/** Inputs for fuzz targets, kept in the repository, and a bounded run over them. */
@NullMarked
package io.pointsman.testkit.fuzz;

import org.jspecify.annotations.NullMarked;
