/** Translation of Ray Serve's declarative configuration for LLM applications. */
@NullMarked
package io.pointsman.app.compat.ray;

import org.jspecify.annotations.NullMarked;
