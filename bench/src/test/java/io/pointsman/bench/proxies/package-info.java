@NullMarked
package io.pointsman.bench.proxies;

import org.jspecify.annotations.NullMarked;
