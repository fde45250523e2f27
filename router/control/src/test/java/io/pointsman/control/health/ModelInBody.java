package io.pointsman.control.health;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;

/** Reads the name of the model in a body, which must be complete JSON. */
final class ModelInBody {
  private ModelInBody() {}

  static String model(byte[] body) throws IOException {
    String model = "";
    try (JsonParser json = new JsonFactory().createParser(body)) {
      while (json.nextToken() != null) {
        if ("model".equals(json.currentName()) && json.currentToken().isScalarValue()) {
          model = json.getText();
        }
      }
    }
    return model;
  }
}
