import { platformVersion } from '@headset-cloud/runtime/build-info.ts';
import { Command, CommanderError } from 'commander';
import { CliError, exitCodes, OutputClosed } from './exit-codes.ts';
import { wholeNumber } from './numbers.ts';
import { rejectEmptyValues } from './options.ts';
import { guarded, type Terminal } from './output.ts';
import type { Surroundings } from './session.ts';

/** A program without commands, with the options of every program. `more`: the end of the help text. */
export function createProgram(
  name: string,
  { description, timeoutMs, more }: { description: string; timeoutMs: number; more: string },
): Command {
  return (
    new Command(name)
      .description(description)
      .version(platformVersion(), '--version', 'print the version')
      .option('--timeout-ms <ms>', 'how long to wait for an answer', wholeNumber(), timeoutMs)
      .option('--json', 'print JSON: one value, or one value per line for streams')
      // Wraps descriptions in small terminals, too.
      .configureHelp({ minWidthToWrap: 20, showGlobalOptions: true })
      .addHelpText('after', more)
      .showHelpAfterError('(add --help for the options)')
  );
}

/** Width of help texts if the terminal's width is unknown. */
const defaultColumns = 80;

/**
 * Runs one command line (without node and script) of the program that `build` makes. Returns its exit code. All output is
 * written to a guarded terminal, whose write errors are already handled. Throws every error except CliError.
 */
export async function runProgram<S extends Surroundings>(
  build: (surroundings: S) => Command,
  args: readonly string[],
  surroundings: S,
): Promise<number> {
  const terminal = guarded(surroundings.terminal);
  const program = build({ ...surroundings, terminal });
  configure(program, terminal);
  try {
    await program.parseAsync(args, { from: 'user' });
    await terminal.flushed?.();
    return exitCodes.ok;
  } catch (error) {
    // Commander has already printed the error or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    if (error instanceof OutputClosed) return exitCodes.ok;
    if (error instanceof CliError) {
      terminal.err(`${error.message}\n`);
      return error.exitCode;
    }
    throw error;
  }
}

/**
 * Makes every command throw instead of ending the process, write to the given terminal, and reject empty values of
 * options.
 */
function configure(command: Command, terminal: Terminal): void {
  const columns = () => terminal.columns ?? defaultColumns;
  command.exitOverride().configureOutput({
    writeOut: terminal.out,
    writeErr: terminal.err,
    getOutHelpWidth: columns,
    getErrHelpWidth: columns,
  });
  rejectEmptyValues(command);
  for (const child of command.commands) configure(child, terminal);
}
