@NullMarked
package io.pointsman.tool.bench.overload;

import org.jspecify.annotations.NullMarked;
