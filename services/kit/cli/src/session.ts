import type { Command } from 'commander';
import { type Column, type Terminal, table } from './output.ts';
import { createFiles, type Files } from './standard-streams.ts';

/** Parts of the process that a command line uses. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file that Node.js runs, for completion scripts. */
  readonly main: string;
}

/** Functions for the commands of one run. Options are read when a command runs. */
export interface Session extends Surroundings {
  /** The files that the command line names. */
  readonly files: Files;
  /** Prints an answer: as JSON with --json, otherwise as text made by `text`. `print`: default standard output. */
  show<T>(value: T, text: (value: T) => string, print?: (text: string) => void): void;
  /** Like `show`, for one of many values: one line of JSON. Throws CliError when the output's reader has closed it. */
  emit<T>(value: T, text: (value: T) => string): Promise<void>;
  /**
   * Formats rows as a table if it fits the terminal, otherwise with the fields below each other. Without rows returns
   * `none`.
   */
  table<T>(rows: readonly T[], columns: readonly Column<T>[], none: string): string;
  /** Prints a message to standard error. */
  note(text: string): void;
}

/** `root`: the program of `createProgram`. `runProgram` gives `surroundings` a guarded terminal. */
export function createSession<S extends Surroundings>(root: Command, surroundings: S): S & Session {
  const { terminal } = surroundings;
  const isJson = () => root.opts<{ json?: boolean }>().json === true;
  return {
    ...surroundings,
    files: createFiles(terminal),
    show(value, text, print = terminal.out) {
      print(isJson() ? `${JSON.stringify(value, null, 2)}\n` : text(value));
    },
    async emit(value, text) {
      terminal.out(isJson() ? `${JSON.stringify(value)}\n` : text(value));
      await terminal.flushed?.();
    },
    table: (rows, columns, none) => table(rows, columns, none, terminal.columns),
    note(text) {
      terminal.err(`${text}\n`);
    },
  };
}
