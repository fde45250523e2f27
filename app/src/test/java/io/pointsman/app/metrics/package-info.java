@NullMarked
package io.pointsman.app.metrics;

import org.jspecify.annotations.NullMarked;
