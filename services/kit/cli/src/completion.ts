import { Argument, type Command, type Option } from 'commander';
import type { Session } from './session.ts';

/** Shells with a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/**
 * Adds the command `completion`, and the hidden command that the printed scripts call. Commands that are added later
 * are completed, too.
 */
export function addCompletion(program: Command, session: Session): void {
  const name = program.name();
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .description(`print a script that completes ${name} in a shell`)
    .addHelpText(
      'after',
      `
${name} must be the name by which you call it: a command, a function, or (in bash and fish) an alias.

Examples:
  $ source <(${name} completion bash)
  $ source <(${name} completion zsh)
  $ ${name} completion fish | source
`,
    )
    .action((shell: Shell) =>
      session.terminal.out(completionScript(name, shell, [process.execPath, session.main])),
    );

  program.command('__complete [words...]', { hidden: true }).action((words: string[]) =>
    session.terminal.out(
      candidates(program, words)
        .map((word) => `${word}\n`)
        .join(''),
    ),
  );
}

const suggestions = new WeakMap<Argument | Option, readonly string[]>();

/**
 * Adds words that completion suggests; other words stay allowed. The value of an option may be a comma-separated list
 * of the words.
 */
export function suggesting<T extends Argument | Option>(one: T, words: readonly string[]): T {
  suggestions.set(one, words);
  return one;
}

/**
 * Candidates for the last of `words` (the words after the program's name; the last word may be empty): commands, options, or the
 * values of an option or an argument. Empty if files or free text are expected.
 */
export function candidates(program: Command, words: readonly string[]): string[] {
  const begun = words.at(-1) ?? '';
  let command = program;
  /** The option whose value is the next word. */
  let optionWithValue: Option | undefined;
  let position = 0;
  for (const word of words.slice(0, -1)) {
    if (optionWithValue) optionWithValue = undefined;
    else if (word.startsWith('-')) {
      const option = optionsOf(command).find(({ long, short }) => long === word || short === word);
      if (option?.required) optionWithValue = option;
    } else {
      const found = command.commands.find((one) => one.name() === word);
      if (found) [command, position] = [found, 0];
      else position++;
    }
  }
  const argument = command.registeredArguments[position];
  const all = optionWithValue
    ? (optionWithValue.argChoices ?? completedLists(suggestions.get(optionWithValue) ?? [], begun))
    : begun.startsWith('-')
      ? optionsOf(command).flatMap(({ long }) => long ?? [])
      : [
          ...command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_')),
          ...(argument?.argChoices ?? (argument && suggestions.get(argument)) ?? []),
        ];
  return [...new Set(all)].filter((one) => one.startsWith(begun)).sort();
}

/** Returns the comma-separated list `begun`, completed by each word that it does not contain yet. */
function completedLists(words: readonly string[], begun: string): string[] {
  const complete = begun.slice(0, begun.lastIndexOf(',') + 1);
  return words.filter((word) => !complete.split(',').includes(word)).map((word) => complete + word);
}

/** The options of a command, of its default command, and of its parent commands. */
function optionsOf(command: Command): Option[] {
  const all: Option[] = [];
  for (let one: Command | null = command; one; one = one.parent)
    all.push(...one.createHelp().visibleOptions(one));
  const [only] = command.commands;
  if (command.parent && command.commands.length === 1 && only) {
    all.push(...only.createHelp().visibleOptions(only));
  }
  return all;
}

/** Script that completes the program `name` in a shell. `run`: the words that start the program. */
export function completionScript(name: string, shell: Shell, run: readonly string[]): string {
  const start = run.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  switch (shell) {
    case 'bash':
      return `# Completion of ${name} for bash: source <(${name} completion bash)
_${name}_completion() {
  local IFS=$'\\n'
  COMPREPLY=($(${start} __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _${name}_completion ${name}
`;
    case 'zsh':
      return `# Completion of ${name} for zsh: source <(${name} completion zsh)
_${name}_completion() {
  local -a found
  found=("\${(@f)$(${start} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _${name}_completion ${name}
`;
    case 'fish':
      return `# Completion of ${name} for fish: ${name} completion fish | source
function __${name}_completion
  set -l words (commandline -opc) (commandline -ct)
  set -l found (${start} __complete -- $words[2..-1] 2>/dev/null)
  if test -n "$found[1]"
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c ${name} -f -a '(__${name}_completion)'
`;
  }
}
