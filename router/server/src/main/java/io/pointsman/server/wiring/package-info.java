/**
 * Assembly of the router: the only package that creates adapters, clocks and random number
 * generators.
 */
@NullMarked
package io.pointsman.server.wiring;

import org.jspecify.annotations.NullMarked;
