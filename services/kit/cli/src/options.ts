import { type Command, Option } from 'commander';
import { instant, instantForms } from './time.ts';

/** A hidden option that sets the value of another option. */
class EarlierName extends Option {
  readonly #of: Option;
  constructor(of: Option, long: string) {
    super(of.flags.replace(of.long as string, long));
    this.#of = of;
    if (of.parseArg) this.argParser(of.parseArg);
    this.hideHelp();
  }
  override attributeName(): string {
    return this.#of.attributeName();
  }
}

const mayBeEmpty = new WeakSet<Option>();

/** Allows an empty value of an option. By default an empty value is rejected (`rejectEmptyValues`). */
export function allowEmpty(option: Option): Option {
  mayBeEmpty.add(option);
  return option;
}

/**
 * Rejects empty values of a command's options as a wrong command line. An empty value is usually an unset shell
 * variable, and would select everything: `--application ""` would mean all applications.
 */
export function rejectEmptyValues(command: Command): void {
  for (const option of command.options) {
    if (mayBeEmpty.has(option)) continue;
    // Runs after the option's own parser, whose message is more specific.
    command.on(`option:${option.name()}`, (value: unknown) => {
      if (value === '') command.error(`error: the value of option '${option.flags}' is empty`);
    });
  }
}

/** Returns a hidden option with an earlier name of the option `of`, so that existing scripts continue to work. */
export function earlierName(of: Option, long: string): Option {
  return new EarlierName(of, long);
}

/** The option for the start of a time range. `what`: its help text, for example "created since". */
export function sinceOption(what: string): Option {
  return new Option('--since <time>', `${what}: ${instantForms}`).argParser(instant);
}

/** The option for the end of a time range. `what`: its help text, for example "created until". */
export function untilOption(what: string): Option {
  return new Option('--until <time>', `${what}, in the same form`).argParser(instant);
}

/** The option for the state of deliveries. */
export function deliveryStateOption(): Option {
  const states = ['pending', 'delivered', 'dead', 'replaced', 'unsent'];
  return new Option('--state <state>', 'only in this state').choices(states);
}
