/**
 * Assembly of the router: the only package that creates adapters, clocks and random number
 * generators.
 */
@NullMarked
package io.pointsman.app.wiring;

import org.jspecify.annotations.NullMarked;
