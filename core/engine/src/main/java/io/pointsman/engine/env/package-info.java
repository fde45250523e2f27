/** The engine's environment as parameters: time, random numbers and large pages. */
@NullMarked
package io.pointsman.engine.env;

import org.jspecify.annotations.NullMarked;
