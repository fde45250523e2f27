@NullMarked
package io.pointsman.app.tracing;

import org.jspecify.annotations.NullMarked;
