/** Ray Serve's declarative configuration of LLM applications, translated. */
@NullMarked
package io.pointsman.app.compat.ray;

import org.jspecify.annotations.NullMarked;
