@NullMarked
package io.pointsman.observe.tracing;

import org.jspecify.annotations.NullMarked;
