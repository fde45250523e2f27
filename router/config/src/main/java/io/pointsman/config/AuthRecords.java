package io.pointsman.config;

import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.settings.AuthSettings;

/** Builds the settings of client authentication from values. */
public final class AuthRecords {
  private AuthRecords() {}

  /**
   * The settings of the values.
   *
   * @throws ConfigException if they are invalid
   */
  public static AuthSettings from(ConfigValues values) {
    return RecordGroup.group(
        "auth",
        () ->
            new AuthSettings(
                values.get(AdminKeys.VALIDATION_URLS),
                values.get(AdminKeys.KEYS_FILE),
                values.get(AdminKeys.KEYS_ENV),
                values.get(AdminKeys.VERDICT_TTL)));
  }
}
