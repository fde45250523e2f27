/** Clients, engines and clusters for the scenarios. */
@NullMarked
package io.pointsman.it.support;

import org.jspecify.annotations.NullMarked;
