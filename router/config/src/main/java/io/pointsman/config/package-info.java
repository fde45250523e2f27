/**
 * The configuration: one registry of keys. The YAML file, the flags, the documentation page and the
 * router's settings are derived from it.
 */
@NullMarked
package io.pointsman.config;

import org.jspecify.annotations.NullMarked;
