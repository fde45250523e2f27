/** Explanations of decisions: a log of a sample, and their JSON form. */
@NullMarked
package io.pointsman.app.explain;

import org.jspecify.annotations.NullMarked;
