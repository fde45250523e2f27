package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.HttpResponseStatus;
import io.pointsman.it.support.ShippedClasses;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ErrorCode;
import io.pointsman.proxy.reply.Reply;
import java.io.IOException;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeElement;
import java.lang.classfile.Instruction;
import java.lang.classfile.Label;
import java.lang.classfile.MethodModel;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Only the enums of {@link ErrorCode} choose the statuses of errors. The check reads byte code,
 * because the compiler puts constants of other classes into the methods that use them.
 */
final class StatusesTest {
  private static final ClassDesc NETTY = desc(HttpResponseStatus.class);

  /** An answer, or the status line of one. */
  private static final Set<ClassDesc> ANSWERS =
      Set.of(desc(LocalResponse.class), desc(Reply.class), NETTY);

  private static ClassDesc desc(Class<?> type) {
    return ClassDesc.ofDescriptor(type.descriptorString());
  }

  @Test
  void noMethodBuildsAnAnswerWithItsOwnErrorStatus() throws IOException {
    List<ClassModel> shipped =
        ShippedClasses.below(
            "io.pointsman.proxy",
            "io.pointsman.pd",
            "io.pointsman.observe",
            "io.pointsman.api",
            "io.pointsman.batch",
            "io.pointsman.compat",
            "io.pointsman.plane",
            "io.pointsman.server");
    assertThat(shipped).hasSizeGreaterThan(500);
    assertThat(shipped).flatMap(StatusesTest::problems).isEmpty();
  }

  @Test
  void ownStatusesAreFound() throws IOException {
    assertThat(problems(ShippedClasses.of(Planted.class)))
        .containsExactlyInAnyOrder(
            Planted.class.getName() + ".direct: 404",
            Planted.class.getName() + ".chosen: 503",
            Planted.class.getName() + ".status: 502",
            Planted.class.getName() + ".jump: 503",
            Planted.class.getName() + ".named: NOT_FOUND");
  }

  private static List<String> problems(ClassModel type) {
    List<String> found = new ArrayList<>();
    for (MethodModel method : type.methods()) {
      String in = ShippedClasses.name(type) + "." + method.methodName().stringValue() + ": ";
      List<CodeElement> code =
          method.code().map(body -> body.elementStream().toList()).orElse(List.of());
      boolean answers = code.stream().anyMatch(StatusesTest::takesStatus);
      for (int i = 0; i < code.size(); i++) {
        if (code.get(i) instanceof ConstantInstruction constant
            && isError(constant)
            && (answers || isReturned(code, i))) {
          found.add(in + constant.constantValue());
        }
        if (code.get(i) instanceof FieldInstruction field && isNettyStatus(field)) {
          found.add(in + field.name().stringValue());
        }
      }
    }
    return found;
  }

  /** True for a call that makes an answer of a number. */
  private static boolean takesStatus(CodeElement element) {
    if (!(element instanceof InvokeInstruction call)) {
      return false;
    }
    MethodTypeDesc type = call.typeSymbol();
    boolean constructs = call.name().equalsString(ConstantDescs.INIT_NAME);
    ClassDesc made = constructs ? call.owner().asSymbol() : type.returnType();
    return ANSWERS.contains(made) && type.parameterList().contains(ConstantDescs.CD_int);
  }

  private static boolean isError(ConstantInstruction constant) {
    return constant.opcode() == Opcode.SIPUSH
        && constant.constantValue() instanceof Integer number
        && number >= 400
        && number <= 599;
  }

  /** True if the method returns the constant: a method that only chooses the status. */
  private static boolean isReturned(List<CodeElement> code, int constant) {
    int at = constant + 1;
    // The bound is for a jump to itself.
    for (int jumps = 0; jumps < code.size(); jumps++) {
      while (at < code.size() && !(code.get(at) instanceof Instruction)) {
        at++;
      }
      if (at == code.size() || !(code.get(at) instanceof BranchInstruction jump) || !always(jump)) {
        break;
      }
      at = indexOf(code, jump.target());
    }
    return at < code.size() && code.get(at) instanceof ReturnInstruction;
  }

  private static boolean always(BranchInstruction jump) {
    return jump.opcode() == Opcode.GOTO || jump.opcode() == Opcode.GOTO_W;
  }

  private static int indexOf(List<CodeElement> code, Label label) {
    for (int i = 0; i < code.size(); i++) {
      if (code.get(i) instanceof LabelTarget target && target.label().equals(label)) {
        return i;
      }
    }
    return code.size();
  }

  private static boolean isNettyStatus(FieldInstruction field) {
    return field.opcode() == Opcode.GETSTATIC
        && field.owner().asSymbol().equals(NETTY)
        && field.typeSymbol().equals(NETTY);
  }

  /** Violations of the rule, and permitted cases. */
  static final class Planted {
    private Planted() {}

    static LocalResponse direct() {
      return LocalResponse.text(404, "not found");
    }

    static LocalResponse chosen(boolean ready) {
      return LocalResponse.text(ready ? 200 : 503, "");
    }

    static int status(int first) {
      return first == 200 ? first : 502;
    }

    static int jump(boolean down) {
      return down ? 503 : 200;
    }

    static int named() {
      return HttpResponseStatus.NOT_FOUND.code();
    }

    static LocalResponse permitted(ErrorCode error, int ofEngine) {
      return ofEngine < 200 ? LocalResponse.text(error, "") : LocalResponse.text(ofEngine, "");
    }
  }
}
