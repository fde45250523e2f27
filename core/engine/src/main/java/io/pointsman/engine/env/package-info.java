/**
 * The engine's environment as parameters: time, random numbers and large pages. Also the form of
 * text for logs.
 */
@NullMarked
package io.pointsman.engine.env;

import org.jspecify.annotations.NullMarked;
