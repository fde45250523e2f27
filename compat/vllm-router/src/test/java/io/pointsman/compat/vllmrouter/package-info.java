@NullMarked
package io.pointsman.compat.vllmrouter;

import org.jspecify.annotations.NullMarked;
