/** Test code shared by all modules; never shipped. */
@NullMarked
package io.pointsman.testkit;

import org.jspecify.annotations.NullMarked;
