/** The command line: one class per command, flags generated from the registry of keys. */
@NullMarked
package io.pointsman.server.cli;

import org.jspecify.annotations.NullMarked;
