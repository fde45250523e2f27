@NullMarked
package io.pointsman.bench.live;

import org.jspecify.annotations.NullMarked;
