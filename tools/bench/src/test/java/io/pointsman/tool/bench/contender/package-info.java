@NullMarked
package io.pointsman.tool.bench.contender;

import org.jspecify.annotations.NullMarked;
