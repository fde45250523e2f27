/**
 * The configuration: one registry of keys, from which the YAML file, the flags, the page that
 * documents them and the records that the router is built from are all derived.
 */
@NullMarked
package io.pointsman.app.config;

import org.jspecify.annotations.NullMarked;
