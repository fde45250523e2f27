package io.pointsman.observe.metrics;

import java.util.ArrayList;
import java.util.List;

/**
 * Maps a status code to a label: common codes to themselves, all others to their class. An engine
 * can thus create only a limited number of series.
 */
final class StatusLabels {
  private static final int[] USUAL = {
    101, 200, 201, 202, 204, 206, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 408, 409, 413,
    415, 422, 429, 431, 499, 500, 501, 502, 503, 504
  };

  private static final int CLASSES = 6;
  private static final List<String> LABELS = new ArrayList<>();
  private static final int[] BY_STATUS = new int[CLASSES * 100];

  static {
    for (int first = 0; first < CLASSES; first++) {
      LABELS.add(first + "xx");
    }
    for (int status = 0; status < BY_STATUS.length; status++) {
      BY_STATUS[status] = status / 100;
    }
    for (int status : USUAL) {
      BY_STATUS[status] = LABELS.size();
      LABELS.add(Integer.toString(status));
    }
  }

  private StatusLabels() {}

  /** The index of the label of {@code status}, in {@code [0, size())}; 0 for an invalid status. */
  static int index(int status) {
    return status >= 100 && status < BY_STATUS.length ? BY_STATUS[status] : 0;
  }

  static String label(int index) {
    return LABELS.get(index);
  }

  static int size() {
    return LABELS.size();
  }
}
