package dev.holdfast.client;

import dev.holdfast.v1.CommandFailed;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEvent;
import io.grpc.Status;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/** The commands of a session that wait to be sent, in messages within the bounds of the server. */
final class CommandQueue {
  private final Map<Long, CommandOwner> owners;
  private final ArrayDeque<SessionCommand> waiting = new ArrayDeque<>();

  /** The attaches without an answer. */
  private final Set<Long> attaches = new HashSet<>();

  private int maxCommands = Numbers.Session.MAX_COMMANDS_IN_MESSAGE;
  private int maxBytes = Numbers.Session.MAX_MESSAGE_BYTES;

  /**
   * @param owners the owners of the session's commands
   */
  CommandQueue(Map<Long, CommandOwner> owners) {
    this.owners = owners;
  }

  /** Takes the bounds of the server. 0: the server names none. */
  void bound(int commandCount, int messageBytes) {
    maxCommands = commandCount > 0 ? Math.min(maxCommands, commandCount) : maxCommands;
    maxBytes = messageBytes > 0 ? Math.min(maxBytes, messageBytes) : maxBytes;
  }

  void add(SessionCommand command) {
    waiting.addLast(command);
  }

  /** Returns whether the command was an attach, so that another attach may follow. */
  boolean answered(long commandId) {
    return attaches.remove(commandId);
  }

  /**
   * The commands of the next message. A command that fits into no message would end the session with
   * all its leases, so the command fails here.
   *
   * @param refused takes the failure of such a command
   */
  List<SessionCommand> next(Consumer<SessionEvent> refused) {
    List<SessionCommand> commands = new ArrayList<>();
    long most = (long) (maxBytes * Numbers.Session.COMMANDS_SHARE_OF_MESSAGE);
    long bytes = 0;
    while (commands.size() < maxCommands) {
      SessionCommand command = waiting.peekFirst();
      if (command == null) {
        break;
      }
      long id = command.getCommandId();
      CommandOwner owner = owners.get(id);
      if (owner != null && owner.isOver()) {
        owners.remove(id);
        waiting.removeFirst();
        continue;
      }
      if (command.hasAttach() && attaches.size() >= Numbers.Session.MAX_ATTACHES_UNANSWERED) {
        break;
      }
      long size = command.getSerializedSize() + 8L;
      if (size > most) {
        waiting.removeFirst();
        refused.accept(tooLarge(id, size, most));
        continue;
      }
      if (bytes + size > most) {
        break;
      }
      bytes += size;
      if (command.hasAttach()) {
        attaches.add(id);
      }
      commands.add(waiting.removeFirst());
    }
    return commands;
  }

  /** As the server refuses a large command that fits into a message. */
  private static SessionEvent tooLarge(long id, long size, long most) {
    String text = "the command has " + size + " bytes; at most " + most + " are sent [INVALID_FIELD]";
    CommandFailed.Builder failed =
        CommandFailed.newBuilder()
            .setCode(Status.Code.INVALID_ARGUMENT.value())
            .setReasonText("INVALID_FIELD")
            .setMessage(text);
    return SessionEvent.newBuilder().setCommandId(id).setFailed(failed).build();
  }

  void clear() {
    waiting.clear();
  }
}
