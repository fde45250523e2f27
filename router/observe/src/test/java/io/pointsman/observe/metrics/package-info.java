@NullMarked
package io.pointsman.observe.metrics;

import org.jspecify.annotations.NullMarked;
