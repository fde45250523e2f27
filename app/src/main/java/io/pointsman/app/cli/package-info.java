/** The command line: one class per command, flags generated from the registry of keys. */
@NullMarked
package io.pointsman.app.cli;

import org.jspecify.annotations.NullMarked;
