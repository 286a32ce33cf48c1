import { type Command, CommanderError } from 'commander';
import { CliError, cliExitCodes, OutputClosed } from './exit-codes.ts';
import type { Terminal } from './output.ts';

/** Width of help texts if the terminal's width is unknown. */
const usualColumns = 80;

/**
 * Runs a program with arguments (without node and script) and returns its exit code. All output is written to the given
 * terminal, whose write errors are already handled. Throws every error except CliError.
 */
export async function runProgram(
  program: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  settle(program, terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    await terminal.flushed?.();
    return cliExitCodes.ok;
  } catch (error) {
    // Commander has already printed the error or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? cliExitCodes.ok : cliExitCodes.usage;
    if (error instanceof OutputClosed) return cliExitCodes.ok;
    if (error instanceof CliError) {
      terminal.err(`${error.message}\n`);
      return error.exitCode;
    }
    throw error;
  }
}

/** Makes every command throw instead of ending the process, and write to the given terminal. */
function settle(command: Command, terminal: Terminal): void {
  const columns = () => terminal.columns ?? usualColumns;
  command.exitOverride().configureOutput({
    writeOut: terminal.out,
    writeErr: terminal.err,
    getOutHelpWidth: columns,
    getErrHelpWidth: columns,
  });
  for (const child of command.commands) settle(child, terminal);
}
