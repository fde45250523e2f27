@NullMarked
package io.pointsman.bench.contender;

import org.jspecify.annotations.NullMarked;
